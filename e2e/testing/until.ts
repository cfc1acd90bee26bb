import { setTimeout as wait } from 'node:timers/promises';

/**
 * Looks are as far apart as a twentieth of the time that has passed, within these bounds (ms): each costs the machine CPU time, and often a
 * request.
 */
const [OFTEN, SELDOM] = [5, 50];

/** Waits until `look` gives something other than undefined, null or false. @throws naming `what` after `withinMs`. */
export async function until<T>(what: string, look: () => T | Promise<T>, withinMs = 60_000): Promise<NonNullable<T>> {
  const began = performance.now();
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen) return seen as NonNullable<T>;
      last = seen;
    } catch (error) {
      last = error;
    }
    const passed = performance.now() - began;
    if (passed > withinMs)
      throw new Error(`waited ${withinMs} ms for ${what}; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
    await wait(Math.min(Math.max(passed / 20, OFTEN), SELDOM));
  }
}
