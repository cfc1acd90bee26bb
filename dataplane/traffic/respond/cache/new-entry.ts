import type { CacheEntry } from '../../cache-messages.ts';
import { withoutFields } from '../../codec/http1/kept-lines.ts';
import type { InternalAnswer } from '../../exchange/internal-exchange.ts';
import type { FillBlock } from './fill-block.ts';
import { agesOf } from './freshness.ts';
import type { GrowingBody } from './growing-body.ts';
import type { CacheLookup } from './reader.ts';
import { isPersonal } from './request.ts';
import { type CacheResponse, ownCopy, variantOf } from './response.ts';
import { type CacheRules, type Storing, storingOf } from './storing.ts';

/** Trailers are not stored (RFC 9111 3.1), so that nothing announces them. */
const NOT_STORED = new Set(['age', 'trailer']);

/** The head of a response that may be stored. */
export type ReceivedHead = { readonly answer: InternalAnswer; readonly response: CacheResponse; readonly storing: Storing };

type Identity = Pick<
  CacheEntry,
  'id' | 'key' | 'host' | 'target' | 'queryRule' | 'domain' | 'vary' | 'variant' | 'etag' | 'lastModified' | 'tags'
>;

/** Which requests a response answers, and its identity when it is validated or removed. */
export const identityOf = ({ x }: CacheLookup, key: string, { parts, tools }: FillBlock, response: CacheResponse): Identity => ({
  id: tools.store.nextId(),
  key: ownCopy(key),
  host: ownCopy(x.host),
  target: ownCopy(parts === null ? x.target : parts.targetOf(x.target)),
  queryRule: parts === null ? '' : parts.queryRule,
  domain: ownCopy(x.route?.domain ?? x.host),
  vary: response.vary,
  variant: ownCopy(variantOf(x.upstreamFields, response.vary)),
  etag: response.etag,
  lastModified: response.lastModifiedText,
  tags: response.tags,
});

/** What a complete response is stored as. `requestedAt` in ms since 1970. */
export function entryOf(
  leader: CacheLookup,
  key: string,
  block: FillBlock,
  { answer, response, storing }: ReceivedHead,
  body: GrowingBody,
  requestedAt: number,
): CacheEntry {
  const identity = identityOf(leader, key, block, response);
  return {
    ...identity,
    bodyId: identity.id,
    hasExactDate: response.lastModified !== null && response.date !== null && response.date - response.lastModified >= 1_000,
    ...storing,
    ...agesOf(response, requestedAt, block.tools.clock.now()),
    status: answer.status,
    fields: withoutFields(answer.fields, NOT_STORED),
    length: body.received,
    body: body.close(),
  };
}

/** Whether a response that is being stored is for this request, too. `variant`: what the request that caused it has in the fields of Vary. */
export function isFor({ storing, response }: ReceivedHead, variant: string, { x, request }: CacheLookup): boolean {
  if (request.control.has('no-cache') || request.range !== null) return false;
  if (storing.lifetime === 0 || storing.noCache || (!storing.shared && isPersonal(request))) return false;
  return variantOf(x.upstreamFields, response.vary) === variant;
}

/** How the response to this request may be used; null if it must not be stored. */
export function storingFor({ x, request }: CacheLookup, response: CacheResponse, { rules, parts, tools }: FillBlock): Storing | null {
  const target = parts === null ? x.target : parts.targetOf(x.target);
  const requestBytes = x.upstreamFields.length + target.length;
  return storingOf(request, response, rules, { requestBytes, hasQuery: target.includes('?'), now: tools.clock.now() });
}

/**
 * Whether the response to the request of `leader` also answers another one that waits for it. If each use has to be validated, only the
 * upstream can say so, unless neither request tells it who has sent it (RFC 9111 5.2.2.4).
 */
export function answersAlso(
  other: CacheLookup,
  leader: CacheLookup,
  response: CacheResponse,
  storing: Storing,
  rules: CacheRules,
): boolean {
  const { vary, age } = response;
  if (variantOf(other.x.upstreamFields, vary) !== variantOf(leader.x.upstreamFields, vary)) return false;
  if (!storing.shared && isPersonal(other.request)) return false;
  const usable = storing.lifetime > age && !storing.noCache;
  return usable || !(isPersonal(other.request) || isPersonal(leader.request) || rules.identified);
}
