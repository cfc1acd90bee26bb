import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectSecure } from 'node:tls';
import { PATIENCE_MS } from '../wire.ts';

/** What an HTTP/2 connection begins with (RFC 9113 3.4). */
export const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** RFC 9113 6. */
export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
  /** RFC 9218 7.1. */
  priorityUpdate: 16,
} as const;
export const FLAG = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;
/** RFC 9113 6.5.2; RFC 8441 3. */
export const SETTING = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindow: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
  enableConnectProtocol: 8,
} as const;
/** RFC 9113 7. */
export const CODE = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refused: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;
export const INITIAL_WINDOW = 4;

/** The largest payload of a frame unless SETTINGS allow more (bytes). */
export const MAX_FRAME = 16_384;

const FRAME_HEAD = 9;
/** Statuses in HPACK's static table, by their byte (RFC 7541 appendix A). */
const STATUS = new Map([200, 204, 206, 304, 400, 404, 500].map((status, at) => [0x88 + at, status]));

export type Frame = { readonly type: number; readonly flags: number; readonly stream: number; readonly payload: Buffer };
export type Field = readonly [name: string, value: string];

/** Test support: one side of an HTTP/2 connection, usually the client's, that sends arbitrary frames and records what it receives. */
export class Frames {
  readonly received: Frame[] = [];
  closed = false;
  /** Whether it acknowledges the SETTINGS that it receives, as it does once it has greeted. */
  acknowledges = false;
  readonly socket: Socket;
  private waiting: Buffer = Buffer.alloc(0);
  private preface: number;
  private readonly waiters = new Set<() => void>();

  /** `preface` is the number of bytes that precede the first frame. */
  private constructor(socket: Socket, preface = 0) {
    this.socket = socket;
    this.preface = preface;
    socket.on('data', (chunk: Buffer) => {
      this.waiting = Buffer.concat([this.waiting, chunk]);
      this.read();
      this.wake();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.closed = true;
      this.wake();
    });
  }

  /** A connection over TLS to `a.test` on which nothing has been sent yet. */
  static async secure(port: number, ca: string): Promise<Frames> {
    const socket = connectSecure({ host: '127.0.0.1', port, ca, servername: 'a.test', ALPNProtocols: ['h2'] });
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject));
    return new Frames(socket);
  }

  /** The server's side of a connection that has just been accepted. */
  static accepted(socket: Socket): Frames {
    return new Frames(socket, PREFACE.length);
  }

  static async plain(port: number): Promise<Frames> {
    const socket = connectPlain({ host: '127.0.0.1', port, noDelay: true });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Frames(socket);
  }

  /** The preface and our settings, as numbers and values. */
  greet(...settings: readonly (readonly [number, number])[]): this {
    this.write(PREFACE);
    this.acknowledges = true;
    return this.settings(...settings);
  }

  settings(...settings: readonly (readonly [number, number])[]): this {
    const payload = Buffer.alloc(settings.length * 6);
    for (const [at, [number, value]] of settings.entries()) {
      payload.writeUInt16BE(number, at * 6);
      payload.writeUInt32BE(value, at * 6 + 2);
    }
    return this.send(FRAME.settings, 0, 0, payload);
  }

  write(bytes: string | Buffer): void {
    if (!this.closed) this.socket.write(bytes, 'latin1');
  }

  send(type: number, flags: number, stream: number, payload: Buffer | string = ''): this {
    this.write(frame(type, flags, stream, payload));
    return this;
  }

  /** A complete request without a body, or only the head of one. */
  request(stream: number, fields: readonly Field[] = head(), flags: number = FLAG.endStream): this {
    return this.send(FRAME.headers, FLAG.endHeaders | flags, stream, block(fields));
  }

  /** The frames received for a stream. */
  of(stream: number, type: number): Frame[] {
    return this.received.filter((one) => one.stream === stream && one.type === type);
  }

  /** The status of a stream's response; undefined if there is none yet. */
  status(stream: number): number | undefined {
    const [answer] = this.of(stream, FRAME.headers);
    return answer === undefined ? undefined : statusIn(answer.payload);
  }

  /** The code with which a stream was reset. */
  resetCode(stream: number): number | undefined {
    return this.of(stream, FRAME.reset)[0]?.payload.readUInt32BE(0);
  }

  /** The code with which the connection was closed. */
  get goneCode(): number | undefined {
    return this.received.find(({ type }) => type === FRAME.goAway)?.payload.readUInt32BE(4);
  }

  async until(what: string, met: () => boolean): Promise<void> {
    if (met()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = (how: () => void): void => {
        this.waiters.delete(look);
        clearTimeout(timer);
        how();
      };
      const seen = (): string => this.received.map(({ type, stream }) => `${type}/${stream}`).join(' ');
      const look = (): void => {
        if (met()) settle(resolve);
        else if (this.closed) settle(() => reject(new Error(`closed while waiting for ${what}; frames: ${seen()}`)));
      };
      const timer = setTimeout(() => settle(() => reject(new Error(`waited for ${what}; frames: ${seen()}`))), PATIENCE_MS);
      this.waiters.add(look);
    });
  }

  /** Waits until everything sent so far has been processed. */
  async answered(): Promise<void> {
    const before = this.of(0, FRAME.ping).length;
    this.send(FRAME.ping, 0, 0, Buffer.alloc(8));
    await this.until('the answer to a ping', () => this.of(0, FRAME.ping).length > before);
  }

  private read(): void {
    if (this.preface > 0) {
      if (this.waiting.length < this.preface) return;
      this.waiting = this.waiting.subarray(this.preface);
      this.preface = 0;
    }
    while (this.waiting.length >= FRAME_HEAD) {
      const length = this.waiting.readUIntBE(0, 3);
      if (this.waiting.length < FRAME_HEAD + length) return;
      const payload = this.waiting.subarray(FRAME_HEAD, FRAME_HEAD + length);
      const [type, flags] = [this.waiting.readUInt8(3), this.waiting.readUInt8(4)];
      this.received.push({ type, flags, stream: this.waiting.readUInt32BE(5) & 0x7fffffff, payload });
      this.waiting = this.waiting.subarray(FRAME_HEAD + length);
      if (type === FRAME.settings && (flags & FLAG.ack) === 0 && this.acknowledges) this.send(FRAME.settings, FLAG.ack, 0);
    }
  }

  private wake(): void {
    for (const waiter of [...this.waiters]) waiter();
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** The status at the start of a response if it is a literal (RFC 7541 6.2); NaN if it is in the dynamic table. */
function statusIn(payload: Buffer): number {
  let at = 0;
  // A change of the table size precedes the fields (RFC 7541 6.3).
  while (((payload[at] ?? 0) & 0xe0) === 0x20) at++;
  const known = STATUS.get(payload[at] ?? 0);
  if (known !== undefined) return known;
  const length = payload[at + 1] ?? 0;
  const value = payload.subarray(at + 2, at + 2 + (length & 0x7f));
  return Number(length < 0x80 ? value.toString('latin1') : digitsIn(value));
}

/** Digits in the Huffman code: 0 to 2 take five bits, 3 to 9 six (RFC 7541 appendix B). */
function digitsIn(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  for (let at = 0; digits.length < 3; ) {
    const short = Number.parseInt(bits.slice(at, at + 5), 2);
    digits += short < 3 ? short : Number.parseInt(bits.slice(at, at + 6), 2) - 0x16;
    at += short < 3 ? 5 : 6;
  }
  return digits;
}

/** 32 bits: a window's increment, an error code, or the stream of a frame that names one. */
export function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** One frame (RFC 9113 4.1). Text is Latin-1. */
export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
  const whole = Buffer.alloc(FRAME_HEAD + bytes.length);
  whole.writeUIntBE(bytes.length, 0, 3);
  whole.writeUInt8(type, 3);
  whole.writeUInt8(flags, 4);
  whole.writeUInt32BE(stream, 5);
  bytes.copy(whole, FRAME_HEAD);
  return whole;
}

/** The head of a GET for `a.test`. Pseudo-header fields replace the usual ones, other fields are added. */
export function head(...fields: readonly Field[]): Field[] {
  const usual = new Map([
    [':method', 'GET'],
    [':scheme', 'https'],
    [':authority', 'a.test'],
    [':path', '/'],
  ]);
  for (const [name, value] of fields) if (usual.has(name)) usual.set(name, value);
  return [...usual, ...fields.filter(([name]) => !usual.has(name))];
}

/** Fields as HPACK literals that are never indexed (RFC 7541 6.2.2). */
export const block = (fields: readonly Field[]): Buffer =>
  Buffer.from(fields.map(([name, value]) => `\0${text(name)}${text(value)}`).join(''), 'latin1');

const text = (value: string): string => String.fromCharCode(...integerBytes(value.length, 7)) + value;

/** RFC 7541 5.1, with the bits before the prefix zero. */
export const integer = (value: number, bits: number): Buffer => Buffer.from(integerBytes(value, bits));

function integerBytes(value: number, bits: number): number[] {
  const most = 2 ** bits - 1;
  if (value < most) return [value];
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return [...bytes, rest];
}
