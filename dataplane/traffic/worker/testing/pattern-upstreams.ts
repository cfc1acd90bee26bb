import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, createServer as createHttp2Server, createSecureServer, Http2ServerResponse } from 'node:http2';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server, Socket } from 'node:net';
import type { Duplex, Readable, Writable } from 'node:stream';
import { WrongByte } from './body-pattern.ts';
import { type MixedRequest, PROTOCOLS, type Protocol } from './mixed-request.ts';
import { readPaced, writePaced } from './paced.ts';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

type Pair = { readonly cert: string; readonly key: string };
type Response = Writable & { writeHead(status: number, fields: OutgoingHttpHeaders): unknown };

/** Test support: an upstream for each protocol, which answers each request as it says and checks what it uploads. */
export class PatternUpstreams {
  private readonly servers: Readonly<Record<Protocol, Server>>;
  private readonly sockets = new Set<Socket>();
  private readonly requestAt: (path: string) => MixedRequest;

  private constructor(pair: Pair, requestAt: (path: string) => MixedRequest) {
    this.requestAt = requestAt;
    const answer = (asked: Readable & { readonly url?: string | undefined }, response: Response): void => {
      response.on('error', () => undefined);
      void this.answer(this.requestAt(asked.url ?? ''), asked, response);
    };
    const upgrade = (asked: IncomingMessage, socket: Duplex, early: Buffer): void => {
      socket.on('error', () => socket.destroy()).unshift(early);
      void this.upgrade(this.requestAt(asked.url ?? ''), asked, socket);
    };
    // The clock of the proxy stands still, so that nothing else may close a connection that is not used.
    const lasting = { keepAliveTimeout: 0, requestTimeout: 0 };
    this.servers = {
      http1: createServer(lasting, answer).on('upgrade', upgrade),
      'http1-tls': createTlsServer({ ...pair, ...lasting }, answer).on('upgrade', upgrade),
      http2: createHttp2Server(answer).on('sessionError', () => undefined),
      'http2-tls': createSecureServer(pair, answer).on('sessionError', () => undefined),
    };
    for (const protocol of PROTOCOLS) this.servers[protocol].on('connection', (socket: Socket) => this.track(socket));
  }

  /** `requestAt` finds the request that has a path. */
  static async start(pair: Pair, requestAt: (path: string) => MixedRequest): Promise<PatternUpstreams> {
    const upstreams = new PatternUpstreams(pair, requestAt);
    for (const protocol of PROTOCOLS) await once(upstreams.servers[protocol].listen(0, '127.0.0.1'), 'listening');
    return upstreams;
  }

  address(protocol: Protocol): string {
    return `127.0.0.1:${(this.servers[protocol].address() as AddressInfo).port}`;
  }

  private track(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => this.sockets.delete(socket));
  }

  private async answer(request: MixedRequest, asked: Readable, response: Response): Promise<void> {
    const { kind, framing, body, cut, cutAt, paces } = request;
    const received = this.receive(request, asked);
    if (kind !== 'early' && !(await received)) return hangUp(response);
    await paces.upstream.begin();
    if (cut === 'upstream' && cutAt < 0) return hangUp(response);
    if (response instanceof ServerResponse) response.useChunkedEncodingByDefault = framing !== 'until-end';
    response.writeHead(200, {
      'content-type': kind === 'encoded' ? 'text/plain' : 'application/octet-stream',
      'cache-control': kind === 'stored' ? 'max-age=60' : 'private',
      ...(framing === 'length' && { 'content-length': body.length }),
    });
    if (response instanceof ServerResponse) response.flushHeaders();
    await writePaced(response, cut === 'upstream' ? body.subarray(0, cutAt) : body, paces.upstream);
    if (cut === 'upstream') hangUp(response);
    else response.end();
  }

  private async upgrade(request: MixedRequest, asked: IncomingMessage, socket: Duplex): Promise<void> {
    const accept = createHash('sha1').update(`${asked.headers['sec-websocket-key']}${GUID}`).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    const received = this.receive(request, socket);
    await writePaced(socket, request.body, request.paces.upstream);
    if (!(await received)) return void socket.destroy();
    socket.resume().end();
  }

  /** @returns whether the whole upload has arrived. */
  private async receive(request: MixedRequest, from: Readable): Promise<boolean> {
    const check = request.checkUpload();
    // The client of a tunnel ends after the upstream.
    const enough = (): boolean => request.kind === 'tunnel' && check.complete;
    try {
      await readPaced(from, check, request.paces.receiving, enough);
    } catch (error) {
      if (error instanceof WrongByte) request.fault = new Error(`${request.path} at the upstream: ${error.message}`);
      return false;
    }
    request.uploaded ||= check.complete;
    return check.complete;
  }

  [Symbol.dispose](): void {
    for (const protocol of PROTOCOLS) this.servers[protocol].close();
    for (const socket of this.sockets) socket.destroy();
  }
}

function hangUp(response: Response): void {
  if (response instanceof ServerResponse) response.destroy();
  else if (response instanceof Http2ServerResponse) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
}
