import type { CacheSpec } from '../../../../shared/policy/cache/cache.ts';
import type { CacheEntry } from '../../cache-messages.ts';
import { MAX_HOPS } from '../../codec/hops.ts';
import { fieldsIn, withoutFields } from '../../codec/http1/kept-lines.ts';
import { answer } from '../../exchange/answer.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Responder } from '../../exchange/responder.ts';
import { cacheStatus } from './cache-status.ts';
import { seconds } from './directives.ts';
import { Fill } from './fill.ts';
import type { FillBlock, FillTools } from './fill-block.ts';
import { type KeyedBlock, keyOf } from './key.ts';
import { KeyParts } from './key-parts.ts';
import type { CacheLookup } from './reader.ts';
import { type CacheRequest, isPersonal, readRequest } from './request.ts';
import { sendStored } from './send.ts';
import type { StoredResponse } from './stored.ts';
import type { CacheRules } from './storing.ts';

const COOKIE = new Set(['cookie']);

export type CachedBlock = KeyedBlock & {
  readonly identified: boolean;
  /** Matches a Cookie field that has only cookies of the proxy itself. */
  readonly ownCookies: RegExp;
  /** Requests that bypass the cache. */
  readonly bypass: ((x: Exchange) => boolean) | null;
};

/** Answers GET and HEAD from the cache where that is allowed, and lets the upstream answer everything else. */
export class CachedResponder implements Responder, FillBlock {
  readonly upstream: Responder;
  readonly rules: CacheRules;
  readonly parts: KeyParts | null;
  readonly tools: FillTools;
  private readonly block: CachedBlock;

  constructor(upstream: Responder, spec: CacheSpec, block: CachedBlock, tools: FillTools) {
    this.upstream = upstream;
    this.block = block;
    this.tools = tools;
    this.parts = keyPartsOf(spec);
    this.rules = {
      ttls: new Map((spec.ttls ?? []).flatMap(({ secs, statuses }) => statuses.map((status) => [status, secs]))),
      staleWhileRevalidate: spec.stale_while_revalidate_secs ?? 0,
      staleIfError: spec.stale_if_error_secs ?? 0,
      identified: block.identified,
    };
  }

  respond(x: Exchange): void {
    const { store, clock } = this.tools;
    const isGet = x.method === 'GET';
    if (!store.enabled || (!isGet && x.method !== 'HEAD') || x.upstreamMethod !== x.method) return this.upstream.respond(x);
    // A GET with a body may mean something else than one without (RFC 9110 9.3.1).
    if (x.bodyLength !== 0 || x.upgrade !== null || x.bindsConnection || forwardedHostDiffers(x)) return this.forward(x);
    const request = readRequest(x.upstreamFields, this.parts);
    if (request.cookies && this.hasOnlyOwnCookies(x)) {
      request.cookies = false;
      x.upstreamFields = withoutFields(x.upstreamFields, COOKIE);
    }
    if (request.odd || request.control.has('no-store') || this.block.bypass?.(x) === true) return this.forward(x);
    // Parameters that are not in the key must not reach the upstream: one client's value could end up in the response that all others get.
    if (this.parts !== null) x.upstreamTarget = this.parts.targetOf(x.upstreamTarget);
    const key = keyOf(x, this.block, this.parts, request.vouched);
    const stored = store.find(key, x.upstreamFields, (entry) => allows(entry, request, this.rules.identified));
    const now = clock.now();
    if (stored !== null) return this.use(x, key, stored, request, now);
    // RFC 9110 13.1.2: a server that has any response answers If-None-Match: * without its body.
    const fetches = isGet && request.range === null && request.ifNoneMatch !== '*';
    // RFC 9111 5.2.1.7: at most the main thread is asked.
    if (request.control.has('only-if-cached'))
      return store.has(key) ? this.gatewayTimeout(x) : new Fill(key, this, { x, request, why: 'uri-miss', fetches }, null, false).start();
    if (store.isUncacheable(key, isPersonal(request), x, now, fetches ? x.upstreamFields : null)) return this.forward(x);
    const why = store.has(key) ? 'vary-miss' : 'uri-miss';
    if (why === 'vary-miss' && !fetches) return this.forward(x);
    this.fetch(key, { x, request, why, fetches }, null);
  }

  private hasOnlyOwnCookies({ upstreamFields }: Exchange): boolean {
    const { ownCookies } = this.block;
    return fieldsIn(upstreamFields, 'cookie').every((line) => ownCookies.test(line));
  }

  explain(now: number): { readonly answeredBy: string | null; readonly words: string } {
    const { answeredBy, words } = this.upstream.explain(now);
    const cached = this.tools.store.enabled ? 'from the cache if it has a fresh response' : 'not from the cache, which has no size';
    return { answeredBy, words: `${words}; ${cached}` };
  }

  /** Responds with an entry that this worker has just learned of. */
  serve({ x, request }: CacheLookup): boolean {
    const key = keyOf(x, this.block, this.parts, request.vouched);
    const stored = this.tools.store.find(key, x.upstreamFields, (entry) => allows(entry, request, this.rules.identified));
    if (stored === null) {
      if (!request.control.has('only-if-cached')) return false;
      this.gatewayTimeout(x);
      return true;
    }
    this.use(x, key, stored, request, this.tools.clock.now());
    return true;
  }

  /** Uses a matching stored response (RFC 9111 4). */
  private use(x: Exchange, key: string, stored: StoredResponse, request: CacheRequest, now: number): void {
    const { entry } = stored;
    const { control } = request;
    const { store } = this.tools;
    const age = stored.age(now);
    const left = entry.lifetime - age;
    store.count(stored);
    const wantsNewer =
      control.size > 0 &&
      (control.has('no-cache') ||
        age > secondsOf(control.get('max-age')) ||
        (control.has('min-fresh') && left < secondsOf(control.get('min-fresh'))));
    if (left > 0 && !entry.noCache && !wantsNewer) return this.hit(x, stored, request, age, left);
    const mayBeStale = !entry.noCache && !entry.mustRevalidate && !wantsNewer;
    const tolerated = control.get('max-stale');
    if (mayBeStale && tolerated !== undefined && -left <= (tolerated === '' ? Number.POSITIVE_INFINITY : seconds(tolerated)))
      return this.stale(x, stored, request, age);
    if (mayBeStale && -left <= entry.staleWhileRevalidate && entry.staleWhileRevalidate > 0) {
      this.refresh(key, { x, request, why: 'stale', fetches: true }, stored);
      return this.stale(x, stored, request, age);
    }
    if (control.has('only-if-cached')) return this.gatewayTimeout(x);
    // It stays although the responses to those who say who they are may have become their own: then they don't wait for one another.
    if (isPersonal(request) && store.isUncacheable(key, true, x, now, x.upstreamFields)) return this.forward(x);
    this.fetch(key, { x, request, why: left > 0 && !entry.noCache ? 'request' : 'stale', fetches: true }, stored);
  }

  private hit(x: Exchange, stored: StoredResponse, request: CacheRequest, age: number, left: number): void {
    x.cached = 'hit';
    sendStored(x, stored, request, `Age: ${age}\r\n${cacheStatus(`; hit; ttl=${left}`)}`);
  }

  private stale(x: Exchange, stored: StoredResponse, request: CacheRequest, age: number): void {
    x.cached = 'stale';
    sendStored(x, stored, request, `Age: ${age}\r\n${cacheStatus(`; hit; ttl=${stored.entry.lifetime - age}`)}`);
  }

  private fetch(key: string, wanted: CacheLookup, stale: StoredResponse | null): void {
    // It is refused there, and nobody must wait for that.
    if (wanted.x.hops > MAX_HOPS) return this.forward(wanted.x);
    const under = this.tools.store.underWay(key, wanted.x);
    if (under instanceof Fill) {
      if (under.accepts(stale, wanted)) return under.join(wanted);
      if (!wanted.fetches) return this.forward(wanted.x);
      // From now on, others wait for the one with more hops: each of those would otherwise fetch alone.
      if (under.hasFewerHops(wanted)) this.tools.store.unregister(key, under);
    }
    new Fill(key, this, wanted, stale, false).start();
  }

  /** Validates in the background, once for all clients. */
  private refresh(key: string, wanted: CacheLookup, stale: StoredResponse): void {
    if (this.tools.store.underWay(key, wanted.x) === null) new Fill(key, this, wanted, stale, true).start();
  }

  private forward(x: Exchange): void {
    x.cached = 'pass';
    this.upstream.respond(x);
  }

  private gatewayTimeout(x: Exchange): void {
    x.cached = 'pass';
    answer(x, { status: 504, fields: '', body: null, reason: 'only-if-cached, and nothing stored fits' });
  }
}

/** null if the key is the usual one. */
export const keyPartsOf = ({ key }: CacheSpec): KeyParts | null => (key === undefined ? null : new KeyParts(key));

const secondsOf = (text: string | undefined): number => (text === undefined ? Number.POSITIVE_INFINITY : seconds(text));

/** Whether a stored response may be used for this request, regardless of who sent it. */
const allows = (entry: CacheEntry, request: CacheRequest, identified: boolean): boolean =>
  entry.shared || !(identified || isPersonal(request));

/** A trusted proxy may name another host than the one that the key contains. The value of another line may look like this one. */
const forwardedHostDiffers = (x: Exchange): boolean => !x.forwarding.includes(`\r\nX-Forwarded-Host: ${x.hostField}\r\n`);
