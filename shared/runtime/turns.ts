import { setImmediate as nextTurn } from 'node:timers/promises';

/** Calls back for every item, with a turn of the event loop after every `perTurn` of them, so that other work is done in between. */
export async function inTurns<T>(items: Iterable<T>, perTurn: number, each: (item: T) => void): Promise<void> {
  let left = perTurn;
  for (const item of items) {
    each(item);
    if (--left > 0) continue;
    left = perTurn;
    await nextTurn();
  }
}
