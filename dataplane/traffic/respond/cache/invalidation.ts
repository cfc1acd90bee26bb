import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { AnswerHead, Filter, FilteredRequest } from '../../exchange/filter.ts';
import { type KeyedBlock, keyOf, keyOfTarget } from './key.ts';
import type { KeyParts } from './key-parts.ts';
import type { CacheStore } from './store.ts';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

/**
 * Removes the entries that successful requests with unsafe methods may have changed: those of their target, and of the one that Location
 * names (RFC 9111 4.4).
 */
export const invalidationOf = (store: CacheStore, block: KeyedBlock, parts: KeyParts | null): Filter => ({
  name: 'cache',
  begin(request, head) {
    if (store.enabled && !SAFE.has(request.method) && head.status >= 200 && head.status < 400 && isExchange(request))
      invalidate(store, request, head, block, parts);
    return null;
  },
});

/** Filters receive the whole exchange, under a narrower type. */
const isExchange = (request: FilteredRequest): request is Exchange => 'target' in request;

function invalidate(store: CacheStore, x: Exchange, { fields }: AnswerHead, block: KeyedBlock, parts: KeyParts | null): void {
  const named = ['location', 'content-location'].flatMap((name) => targetIn(fieldIn(fields, name), x) ?? []);
  const targets = [...new Set([x.target, ...named])];
  store.invalidate(x.host, targets, [keyOf(x, block, parts), ...targets.map((target) => keyOfTarget(x, target, parts))]);
}

/** The target that a reference names if it is one of the same host; otherwise null. */
function targetIn(reference: string | null, x: Exchange): string | null {
  if (reference === null) return null;
  const base = `${x.secure ? 'https' : 'http'}://${x.hostField}${x.target.startsWith('/') ? x.target : '/'}`;
  if (!URL.canParse(reference, base)) return null;
  const url = new URL(reference, base);
  return url.host === new URL(base).host ? `${url.pathname}${url.search}` : null;
}
