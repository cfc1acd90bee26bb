import type { Socket } from 'node:net';
import type { FaultOwner } from '../exchange/fault-owner.ts';
import { guarded } from '../exchange/faults.ts';
import { type DirectReader, DirectSocket } from '../io/direct-socket.ts';
import { ReadBuffer } from '../io/read-buffer.ts';

/** Up to this many bytes are written as text, which needs no buffer that lasts until it has been written. */
const SMALL = 16_384;

/** Relays what one socket receives to the other, with backpressure, until it has ended. */
class Direction implements DirectReader {
  private readonly from: DirectSocket;
  private readonly owner: FaultOwner;
  private to: DirectSocket | null = null;
  private readonly buffers = new ReadBuffer();
  private passed = 0;
  /** Whether the last piece was large, so that more like it may follow. */
  private isLarge = false;

  constructor(from: Socket, owner: FaultOwner) {
    this.owner = owner;
    this.from = new DirectSocket(from, this);
  }

  /** `opposite` relays between the same two sockets in the other direction. */
  start(opposite: Direction): void {
    const to = opposite.from;
    this.to = to;
    to.socket.on(
      'drain',
      guarded(this, () => this.from.resume()),
    );
    // The other direction may continue.
    this.from.socket.on(
      'end',
      guarded(this, () => to.socket.end()),
    );
    this.from.read();
  }

  /** An idle tunnel has no buffer of its own, so one that is idle between large messages would allocate larger ones each time. */
  nextBuffer(): Buffer {
    const { to, passed } = this;
    return this.isLarge && to !== null
      ? this.buffers.nextOf(passed, passed - to.socket.writableLength, true, false)
      : this.buffers.next(false, false);
  }

  receive(bytes: Buffer): void {
    const { to } = this;
    if (to === null) return;
    this.passed += bytes.length;
    this.isLarge = bytes.length > SMALL;
    const isShared = ReadBuffer.isShared(bytes);
    const more = !isShared ? to.writeBytes(bytes) : this.isLarge ? to.writeBytes(Buffer.from(bytes)) : to.write(bytes.toString('latin1'));
    if (!more) this.from.pause();
  }

  onFault(error: unknown): void {
    this.owner.onFault(error);
  }
}

/**
 * Relays bytes between two sockets in both directions, from handle to handle, bypassing both streams. Nothing else may read or write the
 * sockets any more. Either side may end first. Errors and closing are handled as before.
 */
export function relay(one: Socket, other: Socket, owner: FaultOwner): void {
  const [there, back] = [new Direction(one, owner), new Direction(other, owner)];
  there.start(back);
  back.start(there);
}
