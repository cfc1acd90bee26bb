import { eventually } from './proxy/test-proxy.ts';

/** How often it is looked at meanwhile: on a busy machine, a while may pass in which this process does nothing. */
const LOOKS = 25;

/** Waits until a number has not changed for a while. 0 means that nothing has begun. */
export async function stillness(what: string, read: () => number): Promise<void> {
  let last = 0;
  let since = performance.now();
  let looks = 0;
  await eventually(what, () => {
    const now = read();
    if (now !== last) {
      last = now;
      since = performance.now();
      looks = 0;
    }
    return last > 0 && ++looks > LOOKS && performance.now() - since > 250;
  });
}
