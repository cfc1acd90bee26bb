import { FAULT, type Fault } from './fault.ts';
import { Fields, MAX_TRAILER_FIELDS } from './fields.ts';

/** The beginning of a line that no trailer section may have, whatever its value. */
export const NO_TRAILER = /^(?:host|content-length|transfer-encoding):/i;

/**
 * Judges the whole lines of a trailer section, which end at `to`, of a request or an answer. What goes on is written anew, as
 * `Name: value`: an upstream that does not read trailers finds no line in them that could be a request.
 * @returns the lines to forward, or the fault.
 */
export function judgeTrailers(section: Buffer, to: number): string | Fault {
  if (to <= 0) return '';
  const fields = new Fields(MAX_TRAILER_FIELDS);
  const fault = fields.scan(section, section.toString('latin1', 0, to), 0, 0, to, 'trailers', null);
  if (fault !== null) return fault.status === 431 ? FAULT.longTrailers : FAULT.badTrailer;
  if (fields.host !== null || fields.contentLength >= 0 || fields.chunked) return FAULT.badTrailer;
  return fields.kept
    .split('\r\n')
    .filter((line) => line === '' || !HEAD_ONLY.has(folded(line.slice(0, line.indexOf(':')))))
    .join('\r\n');
}

/** As servers fold names that make variables of them. */
const folded = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, '-');

/**
 * Fields that say how to treat a message, which must be known before it ends (RFC 9110 6.5.1): how it is authenticated, what
 * is asked of whoever answers it, what the answer means, how its content is read. Whoever merges trailers into the head
 * would take them for judged. Dropped.
 */
const HEAD_ONLY: ReadonlySet<string> = new Set([
  'authorization',
  'cookie',
  'set-cookie',
  'www-authenticate',
  'accept',
  'accept-charset',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'expect',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'max-forwards',
  'origin',
  'pragma',
  'range',
  'referer',
  'accept-ranges',
  'age',
  'date',
  'expires',
  'location',
  'refresh',
  'retry-after',
  'vary',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-range',
  'content-type',
  'trailer',
  'content-security-policy',
  'strict-transport-security',
  'x-content-type-options',
  'x-frame-options',
]);
