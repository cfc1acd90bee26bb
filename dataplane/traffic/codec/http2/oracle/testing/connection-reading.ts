import { FRAME } from '../../../../testing/http2/frames.ts';
import { LAST_PING } from './sample-frames.ts';

/** How a server understood one request. */
export type RequestReading = {
  /** As the equivalent HTTP/1.1 head. */
  readonly head: string;
  body: string;
  trailers: string;
  complete: boolean;
};

/** How a client understood the response to one of its requests. */
export type ResponseReading = {
  /** As the equivalent HTTP/1.1 heads. */
  readonly interim: string[];
  /** Empty until it has arrived. */
  head: string;
  body: string;
  trailers: string;
  complete: boolean;
};

/** How one side understood a connection. */
export type ConnectionReading<T = RequestReading> = {
  /** By stream. */
  readonly messages: Map<number, T>;
  /** Streams that it has reset. */
  readonly resets: Set<number>;
  /** The code with which the connection ended; null if it is still open. */
  gone: number | null;
  /** Whether the last PING was answered. */
  over: boolean;
};

const FRAME_HEAD = 9;

export const newReading = <T>(): ConnectionReading<T> => ({ messages: new Map(), resets: new Set(), gone: null, over: false });

/** Reads what that side sends. */
export class SentFrames {
  private readonly reading: ConnectionReading<unknown>;
  private waiting: Buffer = Buffer.alloc(0);
  private preface: number;
  /** How many header blocks have begun. */
  heads = 0;

  /** `preface` is the number of bytes before the first frame. */
  constructor(reading: ConnectionReading<unknown>, preface: number) {
    this.reading = reading;
    this.preface = preface;
  }

  feed(chunk: Buffer): void {
    this.waiting = Buffer.concat([this.waiting, chunk]);
    if (this.waiting.length < this.preface) return;
    this.waiting = this.waiting.subarray(this.preface);
    this.preface = 0;
    while (this.waiting.length >= FRAME_HEAD) {
      const end = FRAME_HEAD + this.waiting.readUIntBE(0, 3);
      if (this.waiting.length < end) return;
      this.receive(this.waiting.readUInt8(3), this.waiting.readUInt32BE(5), this.waiting.subarray(FRAME_HEAD, end));
      this.waiting = this.waiting.subarray(end);
    }
  }

  private receive(type: number, stream: number, payload: Buffer): void {
    const { reading } = this;
    if (type === FRAME.headers) this.heads++;
    else if (type === FRAME.reset) reading.resets.add(stream);
    else if (type === FRAME.goAway && payload.readUInt32BE(4) !== 0) reading.gone ??= payload.readUInt32BE(4);
    else if (type === FRAME.ping && payload.equals(LAST_PING)) reading.over = true;
  }
}
