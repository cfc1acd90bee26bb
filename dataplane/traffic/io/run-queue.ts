/** How much one connection may do before others have their turn, in units of about what a byte of framing costs to read. */
export const QUANTUM = 32_768;
/** What a head costs in those units, with the answer that it may get at once; a path that has to be judged costs more, by what that took. */
export const HEAD_COST = 512;
/** How many waiting connections continue in one turn of the event loop. */
const PER_TURN = 4;

/** Something that has work left. */
export interface Runnable {
  /** Its turn has come. */
  run(): void;
}

/**
 * The connections of one worker that have used up their turn with input left, in the order in which they continue.
 * Between two turns of the loop all other connections are read and answered.
 */
export class RunQueue {
  private waiting: Runnable[] = [];
  private armed = false;

  add(connection: Runnable): void {
    this.waiting.push(connection);
    this.arm();
  }

  private arm(): void {
    if (this.armed || this.waiting.length === 0) return;
    this.armed = true;
    setImmediate(this.turn);
  }

  private readonly turn = (): void => {
    const next = this.waiting.splice(0, PER_TURN);
    this.armed = false;
    // Removed before they run, so that an exception in one does not stop the others.
    this.arm();
    for (const connection of next) connection.run();
  };
}
