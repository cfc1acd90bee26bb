import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises';

/** Turns of the event loop in each of which it looks if that takes no time: in this process, most things happen within them. */
const SOON_TURNS = 20;

/**
 * Later looks are as far apart as a twentieth of the time that has passed, within these bounds (ms): each costs the machine CPU time, and
 * often a request.
 */
const [OFTEN, SELDOM] = [5, 50];

/** Waits until `look` gives a truthy value, and returns that. @throws naming `what`, and the last thing seen, after `withinMs`. */
export async function until<T>(what: string, look: () => T | Promise<T>, withinMs = 60_000): Promise<NonNullable<T>> {
  const began = performance.now();
  let last: unknown;
  let takesTime = false;
  for (let looks = 1; ; looks++) {
    try {
      const looked = look();
      takesTime = looked instanceof Promise;
      const seen = await looked;
      if (seen) return seen as NonNullable<T>;
      last = seen;
    } catch (error) {
      last = error;
    }
    const passed = performance.now() - began;
    if (passed > withinMs)
      throw new Error(`waited ${withinMs} ms for ${what}; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
    await (looks < SOON_TURNS && !takesTime ? nextTurn() : wait(Math.min(Math.max(passed / 20, OFTEN), SELDOM)));
  }
}
