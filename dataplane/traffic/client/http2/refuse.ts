import { constants, type ServerHttp2Stream } from 'node:http2';

/** Answers a stream that has no exchange. @returns the size of the body in bytes. */
export function refuse(stream: ServerHttp2Stream, status: number, reason: string): number {
  const body = `${status} ${reason}\n`;
  stream.respond([':status', `${status}`, 'content-type', 'text/plain; charset=utf-8', 'content-length', `${body.length}`]);
  stream.end(body);
  stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
  return body.length;
}
