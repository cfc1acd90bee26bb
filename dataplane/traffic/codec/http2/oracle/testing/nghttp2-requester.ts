import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { type Duplex, duplexPair } from 'node:stream';
import { STATUS_CODES } from '../../../../../../shared/runtime/http/node-http.ts';
import { CODE, PREFACE } from '../../../../testing/http2/frames.ts';
import { type ConnectionReading, newReading, type ResponseReading, SentFrames } from './connection-reading.ts';
import { keptTrailers, linesOf } from './raw-fields.ts';

const OPTIONS = {
  settings: { maxHeaderListSize: 65_536, initialWindowSize: 262_144 },
  strictSingleValueFields: false,
  maxSessionInvalidFrames: 10_000,
};
/** Turns of the event loop in which events of what nghttp2 has read are still emitted. */
const TURNS = 3;
const NOTHING = (): void => undefined;

/** Test support: nghttp2 as a client that sends complete requests, and records the responses. */
export class Nghttp2Requester {
  readonly reading: ConnectionReading<ResponseReading> = newReading();
  private readonly frames = new SentFrames(this.reading, PREFACE.length);
  private readonly methods: readonly string[];
  private readonly wire: Duplex;
  private readonly session: ClientHttp2Session;
  /**
   * Node frees the streams of a session that ends with an error one turn later than it forgets the session's native object. If that is
   * collected in between, Node aborts, because memory that the streams hold is still counted.
   */
  private readonly native: unknown;

  /** `methods` are those of the requests on streams 1, 3, 5 … */
  constructor(methods: readonly string[]) {
    this.methods = methods;
    const [ours, theirs] = duplexPair();
    this.wire = ours;
    this.session = connect('http://a.test', { ...OPTIONS, createConnection: () => theirs });
    this.native = nativeSession(this.session);
    // Node ends the session without notifying the server.
    this.session.on('error', () => {
      this.reading.gone ??= CODE.protocol;
    });
    ours.on('error', NOTHING);
    ours.on('data', (chunk: Buffer) => this.frames.feed(chunk));
    for (const [at, method] of methods.entries()) this.request(1 + 2 * at, method);
  }

  async read(bytes: Buffer): Promise<ConnectionReading<ResponseReading>> {
    while (this.frames.heads < this.methods.length) await new Promise(setImmediate);
    this.wire.write(bytes);
    while (!this.reading.over && this.reading.gone === null && !this.session.destroyed) await new Promise(setImmediate);
    for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
    return this.reading;
  }

  private request(id: number, method: string): void {
    const reading: ResponseReading = { interim: [], head: '', body: '', trailers: '', complete: false };
    this.reading.messages.set(id, reading);
    const stream = this.session.request({ ':method': method, ':path': '/' }, { endStream: true });
    stream.on('error', NOTHING);
    stream.on('headers', (_headers: object, _flags: number, raw: readonly string[]) => reading.interim.push(headText(raw)));
    stream.on('response', (_headers: object, _flags: number, raw: readonly string[] = []) => {
      reading.head = headText(raw);
    });
    stream.on('data', (piece: Buffer) => {
      reading.body += piece.toString('latin1');
    });
    stream.on('trailers', (_headers: object, _flags: number, raw: readonly string[] = []) => {
      reading.trailers = keptTrailers(linesOf(raw), 'response');
    });
    stream.on('end', () => {
      reading.complete = true;
    });
  }

  [Symbol.dispose](): void {
    this.session.destroy();
    this.wire.destroy();
    setImmediate((native: unknown) => setImmediate(() => native), this.native);
  }
}

function nativeSession(session: ClientHttp2Session): unknown {
  const key = Object.getOwnPropertySymbols(session).find(({ description }) => description === 'kHandle');
  assert.ok(key !== undefined, 'Node names its native session differently');
  return Reflect.get(session, key);
}

/** The HTTP/1.1 head that says the same as these fields. */
function headText(raw: readonly string[]): string {
  const at = raw.indexOf(':status');
  const status = raw[at + 1] ?? '';
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${linesOf(raw.toSpliced(at, 2))}\r\n`;
}
