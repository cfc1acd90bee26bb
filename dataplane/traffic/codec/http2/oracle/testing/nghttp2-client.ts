import { once } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, sensitiveHeaders } from 'node:http2';
import { type Duplex, duplexPair } from 'node:stream';
import { CODE, type Field, FLAG, FRAME, frame, PREFACE } from '../../../../testing/http2/frames.ts';

const FRAME_HEAD = 9;
/** RFC 9113 6.5.2: SETTINGS_MAX_FRAME_SIZE unless it is changed. */
const MAX_PAYLOAD = 16_384;
/** RFC 9113 6.5.2. */
const HEADER_TABLE_SIZE = 1;
/** `:status: 103` as a literal that changes no table. */
const EARLY_HINTS = Buffer.from('\x08\x03103', 'latin1');
/** More than any block has. */
const MAX_FIELDS = 10_000;
/** Node counts the fields of informational responses until their request is over. */
const MAX_MEGABYTES = 10_000;
const OK = Buffer.from([0x88]);

/** The block of an informational response: sizes of the table, which may only begin a block, the status, and fields. */
export const informational = (sizes: Buffer, fields: Buffer): Buffer => Buffer.concat([sizes, EARLY_HINTS, fields]);

/** How nghttp2 reads a block: its fields, a fault of the message in a valid block, or a compression error. */
export type TheirDecoding = readonly Field[] | 'malformed message' | 'long list' | 'compression error';

const nothing = (): void => undefined;

/**
 * Test support: nghttp2, as the client of a connection in memory whose server is the test. Its decoder gets blocks as informational
 * responses, any number for each request; its encoder writes requests.
 */
export class Nghttp2Client {
  /** Called with each SETTINGS_HEADER_TABLE_SIZE that the client has chosen, before it is acknowledged. */
  onTableSize: (bytes: number) => void = nothing;
  readonly session: ClientHttp2Session;
  private readonly wire: Duplex;
  private waiting: Buffer = Buffer.alloc(0);
  private begun = false;
  private stream: ClientHttp2Stream | null = null;
  private requests = 0;
  private fields: readonly Field[] | null = null;
  private resetCode: number | null = null;
  private goneCode: number | null = null;
  private block: Buffer[] = [];
  private onAnswer: () => void = nothing;

  constructor() {
    const [ours, theirs] = duplexPair();
    this.wire = ours;
    this.session = connect('http://a.test', {
      createConnection: () => theirs,
      maxHeaderListPairs: MAX_FIELDS,
      maxSessionMemory: MAX_MEGABYTES,
    });
    // What ends the session is read from the wire.
    this.session.on('error', nothing);
    ours.on('error', nothing);
    ours.on('data', (chunk: Buffer) => this.read(chunk));
    this.send(FRAME.settings, 0, 0);
  }

  /** Decodes what `informational` made, and returns the fields after the status. */
  async decode(block: Buffer): Promise<TheirDecoding> {
    if (this.stream === null) await this.openStream();
    this.fields = null;
    this.resetCode = null;
    this.sendBlock(0, block);
    await this.answered();
    if (this.goneCode === CODE.compression) return 'compression error';
    if (this.goneCode !== null) throw new Error(`the connection ended with code ${this.goneCode}`);
    if (this.fields !== null) return this.fields;
    this.stream = null;
    if (this.resetCode === CODE.protocol) return 'malformed message';
    if (this.resetCode === CODE.calm) return 'long list';
    throw new Error(`the stream was reset with code ${this.resetCode}`);
  }

  /**
   * The block with which nghttp2 sends these fields after the pseudo-header fields of a GET for `/`. No name may come twice. `secret`:
   * names of fields that are not to be indexed.
   */
  async encode(fields: readonly Field[], secret: readonly string[]): Promise<Buffer> {
    await this.openStream(fields, secret);
    const block = Buffer.concat(this.block);
    this.sendBlock(FLAG.endStream, OK);
    return block;
  }

  /** Changes the size that the client offers for the table of its peer's encoder, and waits until that has been acknowledged. */
  async offerTable(bytes: number): Promise<void> {
    this.session.settings({ headerTableSize: bytes });
    await once(this.session, 'localSettings');
  }

  /** Changes the size that the client's encoder may use. */
  async limitTable(bytes: number): Promise<void> {
    const payload = Buffer.alloc(6);
    payload.writeUInt16BE(HEADER_TABLE_SIZE);
    payload.writeUInt32BE(bytes, 2);
    this.send(FRAME.settings, 0, 0, payload);
    await this.answered();
  }

  private async openStream(fields: readonly Field[] = [], secret: readonly string[] = []): Promise<void> {
    this.block = [];
    const stream = this.session.request({ ':path': '/', ...Object.fromEntries(fields), [sensitiveHeaders]: [...secret] });
    this.stream = stream;
    this.requests++;
    stream.on('error', nothing);
    const read = (raw: readonly string[]): void => {
      const pairs = raw.flatMap((name, at): Field[] => (at % 2 === 0 ? [[name, raw[at + 1] ?? '']] : []));
      this.fields = pairs.slice(1);
    };
    stream.on('headers', (_headers: object, _flags: number, raw: readonly string[]) => read(raw));
    // Invalid sizes may put another status in front, which makes it the final response.
    stream.on('response', (_headers: object, _flags: number, raw: readonly string[] = []) => {
      this.stream = null;
      read(raw);
    });
    stream.resume();
    await this.answered();
  }

  private sendBlock(flags: number, block: Buffer): void {
    const stream = this.requests * 2 - 1;
    for (let at = 0; at === 0 || at < block.length; at += MAX_PAYLOAD) {
      const last = at + MAX_PAYLOAD >= block.length ? FLAG.endHeaders : 0;
      const piece = block.subarray(at, at + MAX_PAYLOAD);
      if (at === 0) this.send(FRAME.headers, flags | last, stream, piece);
      else this.send(FRAME.continuation, last, stream, piece);
    }
  }

  /** Waits until everything sent so far has been processed, or the connection has ended. */
  private async answered(): Promise<void> {
    if (this.goneCode !== null) return;
    await new Promise<void>((resolve) => {
      this.onAnswer = resolve;
      this.send(FRAME.ping, 0, 0, Buffer.alloc(8));
    });
    // The events of what was processed.
    await new Promise(setImmediate);
  }

  private send(type: number, flags: number, stream: number, payload: Buffer | string = ''): void {
    this.wire.write(frame(type, flags, stream, payload));
  }

  private read(chunk: Buffer): void {
    this.waiting = Buffer.concat([this.waiting, chunk]);
    if (!this.begun) {
      if (this.waiting.length < PREFACE.length) return;
      this.begun = true;
      this.waiting = this.waiting.subarray(PREFACE.length);
    }
    while (this.waiting.length >= FRAME_HEAD) {
      const end = FRAME_HEAD + this.waiting.readUIntBE(0, 3);
      if (this.waiting.length < end) return;
      this.receive(this.waiting.readUInt8(3), this.waiting.readUInt8(4), this.waiting.subarray(FRAME_HEAD, end));
      this.waiting = this.waiting.subarray(end);
    }
  }

  private receive(type: number, flags: number, payload: Buffer): void {
    if (type === FRAME.headers || type === FRAME.continuation) this.block.push(payload);
    else if (type === FRAME.reset) this.resetCode = payload.readUInt32BE(0);
    else if (type === FRAME.ping) this.onAnswer();
    else if (type === FRAME.settings && (flags & FLAG.ack) === 0) {
      for (let at = 0; at < payload.length; at += 6)
        if (payload.readUInt16BE(at) === HEADER_TABLE_SIZE) this.onTableSize(payload.readUInt32BE(at + 2));
      this.send(FRAME.settings, FLAG.ack, 0);
    } else if (type === FRAME.goAway) {
      this.goneCode = payload.readUInt32BE(4);
      this.onAnswer();
    }
  }

  [Symbol.dispose](): void {
    this.session.destroy();
    this.wire.destroy();
  }
}
