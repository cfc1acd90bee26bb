import { constants, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type Duplex, duplexPair } from 'node:stream';
import { type ConnectionReading, newReading, type RequestReading, SentFrames } from './connection-reading.ts';
import { keptTrailers, linesOf } from './raw-fields.ts';

const OPTIONS = {
  settings: { maxConcurrentStreams: 128, maxHeaderListSize: 65_536, initialWindowSize: 262_144, enableConnectProtocol: true },
  strictSingleValueFields: false,
  maxSessionInvalidFrames: 10_000,
  maxSessionRejectedStreams: 10_000,
};
/** Turns of the event loop in which events of what nghttp2 has read are still emitted. */
const TURNS = 3;
const NOTHING = (): void => undefined;

/** Test support: nghttp2 as a server that sends no responses and records the requests. */
export class Nghttp2Server {
  readonly reading: ConnectionReading = newReading();
  private readonly wire: Duplex;
  private readonly session: ServerHttp2Session;
  private closed = false;

  constructor() {
    const [ours, theirs] = duplexPair();
    this.wire = ours;
    this.session = performServerHandshake(theirs, OPTIONS);
    // What ends the session is read from the wire.
    this.session.on('error', NOTHING);
    this.session.on('close', () => {
      this.closed = true;
    });
    this.session.on('stream', (stream, _headers, flags, raw = []) => this.request(stream, flags, raw));
    const frames = new SentFrames(this.reading, 0);
    ours.on('error', NOTHING);
    ours.on('data', (chunk: Buffer) => frames.feed(chunk));
  }

  async read(bytes: Buffer): Promise<ConnectionReading> {
    this.wire.write(bytes);
    while (!this.reading.over && this.reading.gone === null && !this.closed) await new Promise(setImmediate);
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
    return this.reading;
  }

  private request(stream: ServerHttp2Stream, flags: number, raw: readonly string[]): void {
    stream.on('error', NOTHING);
    const head = headText(raw, (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0);
    const reading: RequestReading = { head, body: '', trailers: '', complete: false };
    this.reading.messages.set(stream.id ?? 0, reading);
    stream.on('data', (piece: Buffer) => {
      reading.body += piece.toString('latin1');
    });
    stream.on('trailers', (_headers: object, _flags: number, trailers: readonly string[] = []) => {
      reading.trailers = keptTrailers(linesOf(trailers), 'request');
    });
    stream.on('end', () => {
      reading.complete = true;
    });
  }

  [Symbol.dispose](): void {
    this.session.destroy();
    this.wire.destroy();
  }
}

/** The HTTP/1.1 head that says the same as these fields: the cookies joined, then the framing (RFC 9113 8.2.3, 8.3.1). */
function headText(raw: readonly string[], ends: boolean): string {
  const pseudo = new Map<string, string>();
  const cookies: string[] = [];
  const lines: string[] = [];
  let host: string | undefined;
  let hasLength = false;
  for (let at = 0; at < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]];
    if (name.startsWith(':')) pseudo.set(name, value);
    else if (name === 'cookie') cookies.push(value);
    else if (name === 'host') host = value;
    else lines.push(name, value);
    hasLength ||= name === 'content-length';
  }
  const cookie = cookies.length > 0 ? `cookie: ${cookies.join('; ')}\r\n` : '';
  const framing = ends || hasLength ? '' : 'transfer-encoding: chunked\r\n';
  const authority = pseudo.get(':authority') ?? host ?? '';
  return `${pseudo.get(':method')} ${pseudo.get(':path')} HTTP/1.1\r\nHost: ${authority}\r\n${linesOf(lines)}${cookie}${framing}\r\n`;
}
