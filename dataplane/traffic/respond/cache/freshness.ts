import type { CacheEntry } from '../../cache-messages.ts';
import { fieldIn, withoutFields } from '../../codec/http1/kept-lines.ts';
import type { StoredHead } from '../../exchange/relay.ts';
import type { CacheResponse } from './response.ts';

/** Fields of a 304 that do not replace stored ones, since they are about the body (RFC 9111 3.2). */
const NOT_UPDATED = new Set(['content-encoding', 'content-type', 'content-range', 'content-length', 'trailer', 'age']);

/** Date has whole seconds, and the one that responses without any get here is renewed once a second (ms). */
const DATE_STEP = 2_000;

/** The age of a response that has just arrived (RFC 9111 4.2.3). Times in ms since 1970. */
export function agesOf(response: CacheResponse, requestedAt: number, now: number): Pick<CacheEntry, 'receivedAt' | 'initialAge'> {
  const delay = Math.max(0, now - requestedAt) / 1_000;
  const sinceDate = response.date === null ? 0 : requestedAt - response.date;
  const apparent = sinceDate < DATE_STEP ? 0 : sinceDate / 1_000;
  return { receivedAt: now, initialAge: Math.floor(Math.max(apparent, response.age + delay)) };
}

/** The conditions under which the upstream need not send a stored response again. */
export function validatorsOf({ etag, lastModified }: CacheEntry): string {
  const tag = etag === null ? '' : `If-None-Match: ${etag}\r\n`;
  return lastModified === null ? tag : `${tag}If-Modified-Since: ${lastModified}\r\n`;
}

export const headOf = (fields: string): StoredHead => ({
  hasStrictTransportSecurity: fieldIn(fields, 'strict-transport-security') !== null,
  hasContentTypeOptions: fieldIn(fields, 'x-content-type-options') !== null,
  hasFrameOptions: fieldIn(fields, 'x-frame-options') !== null,
});

/** Stored fields with those of a 304. */
export function updated(stored: string, sent: string): string {
  const fresh = withoutFields(sent, NOT_UPDATED);
  const names = new Set(fresh.split('\r\n').map((line) => line.slice(0, Math.max(0, line.indexOf(':'))).toLowerCase()));
  return withoutFields(stored, names) + fresh;
}
