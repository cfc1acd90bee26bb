import type { CacheEntry } from '../../protocol.ts';
import type { Wanted } from './reader.ts';
import { type CacheResponse, variantOf } from './response.ts';
import { type CacheRules, type Storing, storingOf } from './storing.ts';

type Identity = Pick<CacheEntry, 'id' | 'key' | 'host' | 'target' | 'domain' | 'vary' | 'variant' | 'etag' | 'lastModified' | 'tags'>;

/** Which requests a response answers, and what it is called when it is validated or removed. */
export const identityOf = ({ x }: Wanted, key: string, id: number, response: CacheResponse): Identity => ({
  id,
  key,
  host: x.host,
  target: x.target,
  domain: x.route?.domain ?? x.host,
  vary: response.vary,
  variant: variantOf(x.upstreamFields, response.vary),
  etag: response.etag,
  lastModified: response.lastModifiedText,
  tags: response.tags,
});

/** How the response to this request may be used; null if it must not be stored. `now` in ms since 1970. */
export function storingFor({ x, request }: Wanted, response: CacheResponse, rules: CacheRules, now: number): Storing | null {
  const about = { requestBytes: x.upstreamFields.length + x.target.length, hasQuery: x.target.includes('?'), now };
  return storingOf(request, response, rules, about);
}
