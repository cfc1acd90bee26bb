import { QUANTUM, type Runnable, type RunQueue } from './run-queue.ts';

/** The socket that a connection reads. */
export type ReadSource = { pause(): void; resume(): void };

/** Controls whether a connection's socket is read, which depends on backpressure and on turns. */
export class Intake implements Runnable {
  /** Whether it has used up its turn and waits for the next one. */
  waiting = false;
  private readonly source: ReadSource;
  private readonly queue: RunQueue;
  private readonly onTurn: () => void;
  private spent = 0;
  /** Whether the receiver of the bytes applies backpressure. */
  heldBack = false;

  /** `onTurn` is called when the connection's next turn comes. The socket is then read again unless backpressure applies. */
  constructor(source: ReadSource, queue: RunQueue, onTurn: () => void) {
    this.source = source;
    this.queue = queue;
    this.onTurn = onTurn;
  }

  spend(units: number): void {
    this.spent += units;
  }

  /** Begins a new turn: the following bytes had not arrived yet, so other connections have had theirs. */
  renew(): void {
    this.spent = 0;
  }

  /** @returns whether the turn is over. If so, nothing is read until the next one. */
  isTurnOver(): boolean {
    if (this.waiting) return true;
    if (this.spent < QUANTUM) return false;
    this.waiting = true;
    this.source.pause();
    this.queue.add(this);
    return true;
  }

  run(): void {
    this.waiting = false;
    this.spent = 0;
    this.onTurn();
  }

  /** Stops reading until `resume`. */
  holdBack(): void {
    this.heldBack = true;
    this.source.pause();
  }

  /** The receiver can accept more. */
  resume(): void {
    this.heldBack = false;
    this.readOn();
  }

  /** Reads unless a turn is pending or backpressure applies. */
  readOn(): void {
    if (!this.waiting && !this.heldBack) this.source.resume();
  }
}
