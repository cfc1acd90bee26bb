import { setTimeout as pause } from 'node:timers/promises';

/** A figure once it stays within 1 % for a second, or after 20 s, because garbage collection takes time. */
export async function settled(read: () => number): Promise<number> {
  let last = read();
  for (let second = 0; second < 20; second++) {
    await pause(1_000);
    const now = read();
    if (Math.abs(now - last) < last / 100) return now;
    last = now;
  }
  return last;
}
