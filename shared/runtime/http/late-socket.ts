import type { Clock } from '../clock.ts';

/** How often a socket that can't be opened is tried again (ms). */
const AGAIN_MS = 10_000;

export type LateOutcomes = {
  /** Called once if it can't be opened now. */
  readonly failed: (error: unknown) => void;
  /** Called when it is opened later. */
  readonly opened: () => void;
};

/**
 * Opens a socket, again and again until that works: its directory may not be writable yet. Resolves after the first attempt.
 * @returns a function that ends this, and resolves when no attempt is in progress.
 */
export async function openLate(clock: Clock, open: () => Promise<void>, { failed, opened }: LateOutcomes): Promise<() => Promise<void>> {
  let stopped = false;
  let cancel: () => void = () => undefined;
  let current: Promise<void> = Promise.resolve();
  const wait = (): void => {
    if (!stopped)
      cancel = clock.after(AGAIN_MS, () => {
        current = open().then(opened, wait);
      });
  };
  await open().catch((error: unknown) => {
    failed(error);
    wait();
  });
  return async () => {
    stopped = true;
    cancel();
    await current;
  };
}
