import type { Clock } from '../../../../shared/runtime/clock.ts';

/** An inspection that takes longer (ms) is left alone: an engine may need minutes for a container whose volume it mounts. */
export const SLOW_MS = 500;
/** If so many are left alone, the engine has too much to do: the list has to do for others. */
const MOST_LEFT = 32;

/** `isOutdated`: its result no longer counts, because the container has exited or left a network, or the session is over. */
export type InProgress<T> = { readonly result: Promise<T>; isOutdated: boolean; isLeft: boolean };

/** The inspections that the engine has not answered yet, at most one of each container. */
export class Inspections<T> {
  private readonly clock: Clock;
  private readonly running = new Map<string, InProgress<T>>();

  constructor(clock: Clock) {
    this.clock = clock;
  }

  has(id: string): boolean {
    return this.running.has(id);
  }

  start(id: string, response: Promise<T>): InProgress<T> {
    const ended = () => {
      if (this.running.get(id) === one) this.running.delete(id);
    };
    const one: InProgress<T> = { result: response.finally(ended), isOutdated: false, isLeft: false };
    this.running.set(id, one);
    return one;
  }

  /** Waits for the end of an inspection, or its failure, but not long. @returns whether it has ended. */
  async endsSoon(one: InProgress<T>): Promise<boolean> {
    const late = Promise.withResolvers<boolean>();
    const cancel = this.clock.after(SLOW_MS, () => late.resolve(false));
    try {
      const ended = one.result.then(
        () => true,
        () => true,
      );
      one.isLeft = !(await Promise.race([ended, late.promise]));
      return !one.isLeft;
    } finally {
      cancel();
    }
  }

  /** What the engine says of a container is no longer true. */
  outdate(id: string): void {
    const one = this.running.get(id);
    if (one) one.isOutdated = true;
  }

  /** The session is over, and all inspections with it. @returns the containers. */
  abandon(): string[] {
    const ids = [...this.running.keys()];
    for (const id of ids) this.outdate(id);
    this.running.clear();
    return ids;
  }

  /** Whether no further ones may be started. */
  get isFull(): boolean {
    if (this.running.size < MOST_LEFT) return false;
    return [...this.running.values()].filter(({ isLeft }) => isLeft).length >= MOST_LEFT;
  }
}
