import { HOPS_FIELD } from '../../../../shared/name.ts';
import { foldedName } from '../../codec/http1/field-names.ts';
import { type Directives, seconds } from './directives.ts';
import type { CacheRequest } from './request.ts';
import type { CacheResponse } from './response.ts';

/** The cache settings of a site or block. */
export type CacheRules = {
  /** For responses that state no lifetime: seconds by status. */
  readonly ttls: ReadonlyMap<number, number>;
  /** Seconds, for responses that do not specify it. */
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  /** Whether requests are identified by something that the upstream sees but the key does not contain. */
  readonly identified: boolean;
};

/** How a response may be used. */
export type Storing = {
  readonly lifetime: number;
  readonly noCache: boolean;
  readonly mustRevalidate: boolean;
  readonly staleWhileRevalidate: number;
  readonly staleIfError: number;
  readonly shared: boolean;
};

/** Statuses that may be stored without a stated lifetime (RFC 9110 15.1). */
const HEURISTIC = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]);
/** Statuses with a meaning that this cache knows, for `must-understand` (RFC 9111 5.2.2.3). */
const UNDERSTOOD = new Set([
  ...[200, 203, 204, 300, 301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 414, 421, 451],
  ...[500, 501, 502, 503, 504],
]);
/** Client errors that concern the resource, and are therefore the same for everyone. */
const ABOUT_RESOURCE = new Set([404, 410, 451]);
/** Fields that the proxy adds about each client and each request. They are not part of any key. */
const OF_ONE_REQUEST = new Set(['x-forwarded-for', 'x-real-ip', 'x-request-id', 'traceparent', 'tracestate', HOPS_FIELD.toLowerCase()]);
/** An error in response to a larger request may be about its size, and is not stored (bytes). */
const USUAL_HEAD = 4_096;
/** A tenth of the time since it was last changed, a day at most (RFC 9111 4.2.2). */
const HEURISTIC_PART = 0.1;
const LONGEST_HEURISTIC = 86_400;

/** null if the response must not be stored. `requestBytes` is the size of the fields of the request. */
export function storingOf(
  request: CacheRequest,
  response: CacheResponse,
  rules: CacheRules,
  { requestBytes, hasQuery, now }: { readonly requestBytes: number; readonly hasQuery: boolean; readonly now: number },
): Storing | null {
  const { status, control } = response;
  if (status < 200 || status > 599 || status === 206 || status === 304 || status === 416) return null;
  if (status >= 400 && requestBytes > USUAL_HEAD) return null;
  if (request.control.has('no-store') || response.setsCookie || response.vary.some(isOfOneRequest)) return null;
  if (control.has('private') || !mayKeep(control, status)) return null;
  const open = control.has('public') || control.has('s-maxage') || (response.own && control.has('max-age'));
  // RFC 9111 3.5 also allows it with `must-revalidate`, which many send with responses that are meant for one user.
  if (request.authorized && !control.has('public') && !control.has('s-maxage')) return null;
  if ((request.cookies || rules.identified) && !open) return null;
  // A response that depends on cookies or credentials is personal.
  if (response.vary.includes('authorization') || (response.vary.includes('cookie') && request.cookies)) return null;
  const stated = statedLifetime(response, now);
  const personal = request.authorized || request.cookies || rules.identified;
  const lifetime = stated ?? (personal ? null : (rules.ttls.get(status) ?? heuristic(response, hasQuery, now)));
  const noCache = control.has('no-cache');
  const hasValidator = response.etag !== null || response.lastModifiedText !== null;
  // s-maxage forbids stale responses (RFC 9111 5.2.2.10) unless the same field explicitly allows them.
  const allowsStale = control.has('stale-while-revalidate') || control.has('stale-if-error');
  const mustRevalidate = control.has('must-revalidate') || control.has('proxy-revalidate') || (control.has('s-maxage') && !allowsStale);
  if (lifetime === null && !(noCache && hasValidator)) return null;
  const seen = lifetime ?? 0;
  // The site's settings must not cause a response to be used without validation if it requires validation each time: it may be about the client.
  const staleIfError = within(control, 'stale-if-error', seen === 0 && personal ? 0 : rules.staleIfError);
  const staleWhileRevalidate = within(control, 'stale-while-revalidate', seen === 0 ? 0 : rules.staleWhileRevalidate);
  const usable = seen > response.age && !noCache;
  if (!usable && !hasValidator && (noCache || mustRevalidate || (staleIfError === 0 && staleWhileRevalidate === 0))) return null;
  return { lifetime: seen, noCache, mustRevalidate, staleWhileRevalidate, staleIfError, shared: open };
}

/**
 * Whether a status may be about one request alone: its sender, its size, what it accepts. It says nothing about what others would get, so
 * that no one can turn off the cache for them by sending such requests.
 */
export const isAboutRequest = (status: number): boolean => status >= 400 && status < 500 && !ABOUT_RESOURCE.has(status);

/** Whether a name in Vary stands for what is different for each client or request. */
const isOfOneRequest = (name: string): boolean => name === '*' || OF_ONE_REQUEST.has(foldedName(name));

function mayKeep(control: Directives, status: number): boolean {
  if (control.has('must-understand')) return UNDERSTOOD.has(status);
  return !control.has('no-store');
}

const within = (control: Directives, name: string, otherwise: number): number => {
  const stated = control.get(name);
  return stated === undefined ? otherwise : seconds(stated);
};

/** The lifetime in the order of RFC 9111 4.2.1; null if the response does not state one. */
function statedLifetime({ control, targeted, expires, date }: CacheResponse, now: number): number | null {
  const shared = control.get('s-maxage');
  if (shared !== undefined) return seconds(shared);
  const maxAge = control.get('max-age');
  if (maxAge !== undefined) return seconds(maxAge);
  if (targeted || expires === null) return null;
  if (Number.isNaN(expires)) return 0;
  return Math.max(0, Math.floor((expires - (date ?? now)) / 1_000));
}

/** A URL with a query usually names something that a program computes. */
function heuristic({ status, control, lastModified, date }: CacheResponse, hasQuery: boolean, now: number): number | null {
  if (!HEURISTIC.has(status) && !control.has('public')) return null;
  if (lastModified === null) return null;
  if (hasQuery) return 0;
  const unchanged = ((date ?? now) - lastModified) / 1_000;
  return Math.max(0, Math.min(LONGEST_HEURISTIC, Math.floor(unchanged * HEURISTIC_PART)));
}
