import { eventually } from './proxy/test-proxy.ts';

/** Waits until a number has not changed for a while. 0 means that nothing has begun. */
export async function stillness(what: string, read: () => number): Promise<void> {
  let last = 0;
  let since = performance.now();
  await eventually(what, () => {
    const now = read();
    if (now !== last) {
      last = now;
      since = performance.now();
    }
    return last > 0 && performance.now() - since > 250;
  });
}
