import { setTimeout as wait } from 'node:timers/promises';

/** Waits until `look` gives something other than undefined, null or false. @throws naming `what` after `withinMs`. */
export async function until<T>(what: string, look: () => T | Promise<T>, withinMs = 15_000): Promise<NonNullable<T>> {
  const end = performance.now() + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen) return seen as NonNullable<T>;
      last = seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > end)
      throw new Error(`waited ${withinMs} ms for ${what}; last seen: ${last instanceof Error ? last.message : JSON.stringify(last)}`);
    await wait(5);
  }
}
