import { STATUS_CODES } from '../../../../shared/runtime/http.ts';
import { fieldLines } from './request-text.ts';

/**
 * Writes a response head (RFC 9113 8.3.2) as the equivalent HTTP/1.1 head for the codec to read. `raw` has alternating names and values.
 * @returns null if it has no status, or a field that describes a connection.
 */
export function answerText(raw: readonly string[]): string | null {
  const [name, status = ''] = raw;
  if (name !== ':status' || !/^[1-9]\d\d$/.test(status)) return null;
  const lines = fieldLines(raw, 2);
  return lines === null ? null : `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines}\r\n`;
}
