/** Work that one connection may do per turn. One unit is about the cost of reading one byte of framing. */
export const QUANTUM = 32_768;
/** The cost of a head in these units, including an immediate response. A path that needs checking adds the cost of the check. */
export const HEAD_COST = 512;
/** How many waiting connections continue in one turn of the event loop. */
const PER_TURN = 4;

/** Something with work left to do. */
export interface Runnable {
  /** Called when its turn comes. */
  run(): void;
}

/**
 * Connections of one worker that have used up their turn but still have input, or whose next step costs a whole turn. They continue in order.
 * All other connections are read and answered between two turns of the loop.
 */
export class RunQueue {
  private waiting: Runnable[] = [];
  private armed = false;

  add(connection: Runnable): void {
    this.waiting.push(connection);
    if (this.armed) return;
    this.armed = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    const next = this.waiting.splice(0, PER_TURN);
    // Before they run, so that an exception in one does not stop the others.
    this.armed = this.waiting.length > 0;
    if (this.armed) setImmediate(this.turn);
    let ran = 0;
    try {
      while (ran < next.length) next[ran++]?.run();
    } finally {
      // Nor those of the same turn, which would never be read again.
      for (const connection of next.slice(ran)) this.add(connection);
    }
  };
}
