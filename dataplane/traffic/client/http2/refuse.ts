import type { Http2Stream } from '../../codec/http2/stream.ts';

/** Answers a stream that has no exchange. `bodyless`: the response has no body. @returns the size of the body in bytes. */
export function refuse(stream: Http2Stream, status: number, reason: string, bodyless: boolean): number {
  const body = Buffer.from(`${status} ${reason}\n`);
  stream.head({ status, pseudo: null, lines: 'Content-Type: text/plain; charset=utf-8\r\n', length: body.length }, bodyless);
  if (!bodyless) {
    stream.write(body, 0, body.length);
    stream.end('');
  }
  if (!stream.inputEnded) stream.release();
  return bodyless ? 0 : body.length;
}
