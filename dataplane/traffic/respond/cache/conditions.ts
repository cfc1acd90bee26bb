import { httpTime } from '../../codec/http-time.ts';
import type { CacheRequest } from './request.ts';
import type { StoredResponse } from './stored.ts';

/** Bytes `from` up to but without `to`. */
export type Range = { readonly from: number; readonly to: number } | 'unsatisfiable';

/** Whether an If-None-Match names this tag (RFC 9110 13.1.2, weak comparison). */
export function matchesAny(list: string, etag: string | null): boolean {
  if (list.trim() === '*') return true;
  if (etag === null) return false;
  const wanted = opaque(etag);
  for (let at = 0; at < list.length; ) {
    const open = list.indexOf('"', at);
    const close = open < 0 ? -1 : list.indexOf('"', open + 1);
    if (close < 0) return false;
    if (list.slice(open, close + 1) === wanted) return true;
    at = close + 1;
  }
  return false;
}

const opaque = (etag: string): string => (etag.startsWith('W/') ? etag.slice(2) : etag);

/** Some clients write the greatest number that they know for the rest. */
const ONE_RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,20})[ \t]*$/i;

/** The one range that a request wants; null: it gets the whole (RFC 9110 14.2). */
export function rangeOf({ entry, lastModified }: StoredResponse, { range, ifRange }: CacheRequest): Range | null {
  const match = ONE_RANGE.exec(range ?? '');
  if (match === null) return null;
  if (ifRange !== null && !sameVersion(ifRange, entry.etag, entry.hasExactDate ? lastModified : Number.NaN)) return null;
  const [, first = '', last = ''] = match;
  const { length } = entry;
  if (first === '') {
    if (last === '') return null;
    return Number(last) === 0 || length === 0 ? 'unsatisfiable' : { from: Math.max(0, length - Number(last)), to: length };
  }
  const from = Number(first);
  const to = last === '' ? length : Math.min(length, Number(last) + 1);
  if (last !== '' && Number(last) < from) return null;
  return from >= length ? 'unsatisfiable' : { from, to };
}

/** RFC 9110 13.1.5: strong comparison; a date must be exactly that of the stored response. */
function sameVersion(ifRange: string, etag: string | null, lastModified: number): boolean {
  if (ifRange.startsWith('"')) return ifRange === etag;
  return !ifRange.startsWith('W/') && httpTime(ifRange) === lastModified;
}
