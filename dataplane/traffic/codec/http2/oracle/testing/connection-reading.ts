import { FRAME } from '../../../../testing/frames.ts';
import { LAST_PING } from './sample-connections.ts';

/** How a server understood one request. */
export type RequestReading = {
  /** As the equivalent HTTP/1.1 head. */
  readonly head: string;
  body: string;
  trailers: string;
  complete: boolean;
};

/** How a server understood a connection. */
export type ConnectionReading = {
  readonly requests: Map<number, RequestReading>;
  /** Streams that the server has reset. */
  readonly resets: Set<number>;
  /** The code with which the connection ended; null if it goes on. */
  gone: number | null;
  /** Whether the last PING was answered. */
  over: boolean;
};

const FRAME_HEAD = 9;

export const newReading = (): ConnectionReading => ({ requests: new Map(), resets: new Set(), gone: null, over: false });

/** Reads what a server sends. */
export class ServerFrames {
  private readonly reading: ConnectionReading;
  private waiting: Buffer = Buffer.alloc(0);

  constructor(reading: ConnectionReading) {
    this.reading = reading;
  }

  feed(chunk: Buffer): void {
    this.waiting = Buffer.concat([this.waiting, chunk]);
    while (this.waiting.length >= FRAME_HEAD) {
      const end = FRAME_HEAD + this.waiting.readUIntBE(0, 3);
      if (this.waiting.length < end) return;
      this.receive(this.waiting.readUInt8(3), this.waiting.readUInt32BE(5), this.waiting.subarray(FRAME_HEAD, end));
      this.waiting = this.waiting.subarray(end);
    }
  }

  private receive(type: number, stream: number, payload: Buffer): void {
    const { reading } = this;
    if (type === FRAME.reset) reading.resets.add(stream);
    else if (type === FRAME.goAway && payload.readUInt32BE(4) !== 0) reading.gone ??= payload.readUInt32BE(4);
    else if (type === FRAME.ping && payload.equals(LAST_PING)) reading.over = true;
  }
}
