import { type Clock, systemClock } from '../clock.ts';

const PART = 20;

/**
 * The system's clock, except that waits between `least` and `most` ms take a twentieth of their time: for pauses whose end a test needs, next to
 * limits that a busy machine must not reach. `waits`: what these were (ms), in order.
 */
export function clockWithShortWaits(least: number, most: number): { readonly clock: Clock; readonly waits: readonly number[] } {
  const waits: number[] = [];
  const after: Clock['after'] = (ms, task) => {
    if (ms < least || ms > most) return systemClock.after(ms, task);
    waits.push(ms);
    return systemClock.after(ms / PART, task);
  };
  return { clock: { ...systemClock, after }, waits };
}
