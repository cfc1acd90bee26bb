import { STATUS_CODES } from 'node:http';
import { fieldLines } from './request-text.ts';

/**
 * Writes the head of an answer (RFC 9113 8.3.2) as the HTTP/1.1 head that means the same, for the codec to read. `raw` has
 * names and values in turn. @returns null where it has no status, or a field that speaks of a connection.
 */
export function answerText(raw: readonly string[]): string | null {
  const [name, status = ''] = raw;
  if (name !== ':status' || !/^[1-9]\d\d$/.test(status)) return null;
  const lines = fieldLines(raw, 2);
  return lines === null ? null : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`;
}
