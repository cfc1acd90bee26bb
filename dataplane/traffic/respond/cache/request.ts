import { foldedName } from '../../codec/http1/field-names.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type InternalRequest, onBehalfOf } from '../../exchange/internal-exchange.ts';
import { type Directives, readDirectives } from './directives.ts';
import type { KeyParts } from './key-parts.ts';

/** The parts of a request that a cache needs. */
export type CacheRequest = {
  readonly control: Directives;
  readonly ifNoneMatch: string | null;
  readonly ifModifiedSince: string | null;
  readonly range: string | null;
  readonly ifRange: string | null;
  /** Whether it has credentials, and cookies that are not a part of the key. */
  readonly authorized: boolean;
  cookies: boolean;
  /** Whether it has a field that some servers act on although no cache key contains it. */
  readonly odd: boolean;
  /** The lines that a trusted proxy has added about its client and itself, which are part of the key. */
  readonly vouched: string;
};

/** Whether its sender may get a different response than others. */
export const isPersonal = ({ cookies, authorized }: CacheRequest): boolean => cookies || authorized;

const NO_CACHE: Directives = new Map([['no-cache', '']]);
const NO_CONTROL: Directives = new Map();

/**
 * Fields that make a server treat a GET as another request: another method, host or path. The codec drops the claims of clients about
 * proxies, but leaves these fields to the application. A request with one of them therefore bypasses the cache.
 */
const ODD = new Set([
  ...['x-http-method-override', 'x-http-method', 'x-method-override', 'x-host'],
  ...['x-override-url', 'x-rewrite-uri', 'x-wap-profile', 'x-middleware-subrequest', 'x-middleware-prefetch', 'x-nextjs-data', 'rsc'],
  ...['if-match', 'if-unmodified-since'],
]);

/** Reads everything in one pass over the lines. */
export function readRequest(fields: string, parts: KeyParts | null): CacheRequest {
  let control = '';
  let pragma = false;
  let ifNoneMatch: string | null = null;
  let ifModifiedSince: string | null = null;
  let range: string | null = null;
  let ifRange: string | null = null;
  let authorized = false;
  let cookies = false;
  let odd = false;
  let vouched = '';
  for (let from = 0; from < fields.length; ) {
    const end = fields.indexOf('\r\n', from);
    const colon = fields.indexOf(':', from);
    switch (fields.charCodeAt(from) | 0x20) {
      // c, p, i, r, a, x
      case 0x63:
      case 0x70:
      case 0x69:
      case 0x72:
      case 0x61:
      case 0x78: {
        const name = fields.slice(from, colon).toLowerCase();
        if (name === 'cache-control') control = joined(control, fields.slice(colon + 2, end));
        else if (name === 'pragma')
          pragma ||= fields
            .slice(colon + 2, end)
            .toLowerCase()
            .includes('no-cache');
        else if (name === 'if-none-match') ifNoneMatch = joined(ifNoneMatch ?? '', fields.slice(colon + 2, end));
        else if (name === 'if-modified-since') ifModifiedSince = fields.slice(colon + 2, end);
        else if (name === 'range') range = range === null ? fields.slice(colon + 2, end) : 'several';
        else if (name === 'if-range') ifRange = fields.slice(colon + 2, end);
        else if (name === 'authorization') authorized = true;
        else if (name === 'cookie') cookies = true;
        // The codec has removed the claims of everyone but trusted proxies.
        else if (name.startsWith('x-forwarded-') || name.startsWith('client-cert')) vouched += fields.slice(from, end + 2);
        else odd ||= isOdd(name) && parts?.hasHeader(name) !== true;
      }
    }
    from = end + 2;
  }
  if (cookies && parts !== null) cookies = parts.hasOtherCookies(fields);
  // RFC 9111 5.4: Pragma counts only without Cache-Control.
  const directives = control !== '' ? readDirectives(control) : pragma ? NO_CACHE : NO_CONTROL;
  return { control: directives, ifNoneMatch, ifModifiedSince, range, ifRange, authorized, cookies, odd, vouched };
}

const joined = (before: string, value: string): string => (before === '' ? value : `${before}, ${value}`);

/** Fields that a request of the cache, which is for the whole response, must not have. */
const OF_ONE_CLIENT = new Set(['range', 'if-range', 'if-none-match', 'if-modified-since', 'if-match', 'if-unmodified-since']);

/** `name` in lower case. An upstream that turns names into variables acts on `X_Host` and `If_None_Match`, too. */
function isOdd(name: string): boolean {
  const folded = foldedName(name);
  return ODD.has(folded) || (folded !== name && OF_ONE_CLIENT.has(folded));
}

/** The fields of a request to the upstream whose response may be stored, with the cache's own conditions. */
function fetchFields(fields: string, validators: string): string {
  let kept = '';
  for (let from = 0; from < fields.length; ) {
    const end = fields.indexOf('\r\n', from) + 2;
    const letter = fields.charCodeAt(from) | 0x20;
    const drop = (letter === 0x69 || letter === 0x72) && OF_ONE_CLIENT.has(fields.slice(from, fields.indexOf(':', from)).toLowerCase());
    if (!drop) kept += fields.slice(from, end);
    from = end;
  }
  return kept + validators;
}

/**
 * Builds the request for a whole response on behalf of this exchange. `validators` are lines with conditions. `background`: the exchange
 * does not wait for it.
 */
export const fetchRequest = (x: Exchange, validators: string, background: boolean): InternalRequest => ({
  ...onBehalfOf(x),
  method: 'GET',
  target: x.upstreamTarget,
  fields: fetchFields(x.upstreamFields, validators),
  forwarding: x.forwarding,
  body: null,
  hostOfTarget: x.hostOfTarget,
  routedAs: x,
  trace: background ? (x.trace?.withoutSpans() ?? null) : x.trace,
});
