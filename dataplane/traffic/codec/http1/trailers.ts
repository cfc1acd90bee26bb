import { FAULT, type Fault } from './fault.ts';
import { foldedName } from './field-names.ts';
import { Fields, MAX_TRAILER_FIELDS } from './fields.ts';

/** The beginning of a line that is not allowed in any trailer section, regardless of its value. */
export const NO_TRAILER = /^(?:host|content-length|transfer-encoding):/i;

/**
 * Validates the complete lines of a trailer section, which end at `to`, of a request or a response. Lines to forward are rewritten as
 * `Name: value`, so that an upstream which does not read trailers can't mistake a line for a request.
 * @returns the lines to forward, or the fault.
 */
export function validateTrailers(section: Buffer, to: number): string | Fault {
  if (to <= 0) return '';
  const fields = new Fields(MAX_TRAILER_FIELDS);
  const fault = fields.scan(section, section.toString('latin1', 0, to), 0, 0, to, 'trailers', null);
  if (fault !== null) return fault.status === 431 ? FAULT.longTrailers : FAULT.badTrailer;
  if (fields.host !== null || fields.contentLength >= 0 || fields.chunked) return FAULT.badTrailer;
  return fields.kept
    .split('\r\n')
    .filter((line) => line === '' || !HEAD_ONLY.has(foldedName(line.slice(0, line.indexOf(':')))))
    .join('\r\n');
}

/**
 * Fields that control how a message is processed and must be known before it ends (RFC 9110 6.5.1): authentication, request modifiers, the
 * meaning of a response, the format of its content. A recipient that merges trailers into the head would take them for validated fields.
 * Dropped.
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
