import type { OurMessage } from './reading.ts';

/**
 * Rewrites responses in strict form, in a slow and simple way: it undoes every deviation that we tolerate in upstreams. What follows a
 * body, or is invalid, stays unchanged. `messages` is our reading of `text`.
 */
export function strictForm(text: string, messages: readonly OurMessage[]): string {
  let strict = '';
  let at = 0;
  for (const { offset, bodyOffset, chunked, status } of messages) {
    strict += text.slice(at, offset) + strictHead(text.slice(offset, bodyOffset));
    at = bodyOffset;
    if (!chunked || status < 200) continue;
    const body = strictChunks(text.slice(at));
    strict += body;
    at = text.length;
  }
  return strict + text.slice(at);
}

/** Without a leading empty line, with CRLF line ends, and with one length. */
function strictHead(head: string): string {
  const lines = head.replace(/^\r?\n/, '').split(/\r?\n/);
  const isLength = (line: string): boolean => /^content-length:/i.test(line);
  const first = lines.findIndex(isLength);
  return lines
    .filter((line, at) => at === first || !isLength(line))
    .map((line) => (isLength(line) ? line.replace(/,.*/, '') : line))
    .join('\r\n');
}

/** Without white space after sizes. */
function strictChunks(body: string): string {
  let strict = '';
  let rest = body;
  for (;;) {
    const line = /^([0-9a-f]+)[ \t]*(;[^\n]*|)\r\n/i.exec(rest);
    // The last line may lack its end.
    if (line === null) return strict + rest.replace(/^([0-9a-f]+)[ \t]+(;[^\n]*|)(\r?)$/i, '$1$2$3');
    const [whole, digits = '', extension = ''] = line;
    const size = Number.parseInt(digits, 16);
    const end = size === 0 ? rest.length : whole.length + size + '\r\n'.length;
    strict += `${digits}${extension}\r\n${rest.slice(whole.length, end)}`;
    rest = rest.slice(end);
  }
}
