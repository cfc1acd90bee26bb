import type { Runnable } from '../io/run-queue.ts';

/** How many handshakes begin in one turn of the event loop at most. */
const PER_TURN = 4;

/**
 * TLS handshakes of one worker whose ClientHello has been read: each costs as much as twenty requests, and several times that until its code
 * has been optimized. In each turn of the event loop, they get as much time as everything else has had since their last: a burst of them
 * makes requests take twice as long, and a flood of requests does not keep new clients out.
 */
export class HandshakeQueue {
  private readonly monotonic: () => number;
  private waiting: Runnable[] = [];
  private armed = false;
  /** Since when everything else has had its turn (ms). */
  private yielded = 0;

  constructor(monotonic: () => number) {
    this.monotonic = monotonic;
  }

  add(handshake: Runnable): void {
    this.waiting.push(handshake);
    if (this.armed) return;
    this.yielded = this.monotonic();
    this.arm();
  }

  private arm(): void {
    this.armed = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    this.armed = false;
    const begun = this.monotonic();
    const share = begun - this.yielded;
    try {
      let count = 0;
      do this.waiting.shift()?.run();
      while (++count < PER_TURN && this.waiting.length > 0 && this.monotonic() - begun < share);
    } finally {
      this.yielded = this.monotonic();
      if (this.waiting.length > 0) this.arm();
    }
  };
}
