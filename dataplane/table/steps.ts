import { setImmediate as nextTurn } from 'node:timers/promises';

/** Items per turn of the event loop: a few milliseconds of work for routes. */
const STEP = 1_000;

/** Visits every item in order, in steps that leave the event loop free. The items must not change meanwhile. */
export async function inSteps<T>(items: Iterable<T>, visit: (item: T) => void): Promise<void> {
  let visited = 0;
  for (const item of items) {
    visit(item);
    if (++visited % STEP === 0) await nextTurn();
  }
}
