import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttp1, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createHttp2, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

type AnyRequest = IncomingMessage | Http2ServerRequest;
type Answer = ServerResponse | Http2ServerResponse;

/** What a body is reported as: its length and its SHA-256. */
export const digestOf = (body: Buffer): string => `${body.length} ${createHash('sha256').update(body).digest('hex')}`;

/** The body of `/large`. */
export const LARGE = Buffer.alloc(8_000_000, 'sixteen letters.');

const PIECE = 100_000;
const PIECES = Array.from({ length: LARGE.length / PIECE }, (_, at) => LARGE.subarray(at * PIECE, (at + 1) * PIECE));

async function digest(request: AnyRequest): Promise<string> {
  const hash = createHash('sha256');
  let length = 0;
  for await (const piece of request as AsyncIterable<Buffer>) {
    hash.update(piece);
    length += piece.length;
  }
  return `${length} ${hash.digest('hex')}`;
}

async function answer(request: AnyRequest, response: Answer): Promise<void> {
  switch (request.url?.split('?')[0]) {
    case '/large':
      response.setHeader('content-length', LARGE.length);
      // In pieces: a server of Node refuses streams while its connection has too much to send.
      return void Readable.from(PIECES).pipe(response);
    case '/digest': {
      const text = await digest(request);
      return void response.end(`${text} ${JSON.stringify(request.trailers)}`);
    }
    case '/hints':
      response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
      response.setHeader('content-type', 'text/html');
      return void response.end('<!doctype html><link rel="stylesheet" href="/style.css"><p>after hints');
    case '/style.css':
      response.setHeader('content-type', 'text/css');
      response.setHeader('cache-control', 'max-age=60');
      return void response.end('p { color: rgb(1, 2, 3) }');
    case '/trailers':
      response.setHeader('trailer', 'x-sum');
      response.addTrailers({ 'x-sum': '7' });
      return void response.end('body');
    default:
      return void response.end(`${request.method} ${request.url} ${request.headers.priority ?? ''}`.trimEnd());
  }
}

/** An app that reports the bodies that it receives, and sends large bodies, trailers and early hints. */
export type MessageApp = { readonly address: string } & Disposable;

/** Over HTTP/1.1, or over HTTP/2 without TLS. */
export async function messageApp(protocol: 'http1' | 'h2c'): Promise<MessageApp> {
  const listener = (request: AnyRequest, response: Answer): void => {
    answer(request, response).catch(() => response.destroy());
  };
  const server = protocol === 'http1' ? createHttp1(listener) : createHttp2(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => void server.close(),
  };
}
