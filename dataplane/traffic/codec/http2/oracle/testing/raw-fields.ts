import { ChunkedDecoder } from '../../../http1/chunked.ts';

/** Field lines from alternating names and values. */
export const linesOf = (raw: readonly string[]): string => raw.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');

/** The lines that may be trailers (RFC 9110 6.5.1), as the HTTP/1.1 code decides. */
export function keptTrailers(lines: string, of: 'request' | 'response'): string {
  const section = Buffer.from(`0\r\n${lines}\r\n`, 'latin1');
  const decoder = new ChunkedDecoder(of);
  decoder.feed(section, 0, section.length, { bodyPiece: () => undefined });
  return decoder.trailers;
}
