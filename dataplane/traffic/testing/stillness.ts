import { eventually } from './proxy/test-proxy.ts';

/** Waits until a counter has not changed for a while. */
export async function stillness(read: () => number): Promise<void> {
  let last = -1;
  let since = performance.now();
  await eventually('the flow to stop', () => {
    if (read() !== last) {
      last = read();
      since = performance.now();
    }
    return last > 0 && performance.now() - since > 250;
  });
}
