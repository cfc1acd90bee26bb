import { spawn } from 'node:child_process';
import { type Clock, sleep } from '../runtime/clock.ts';

/** How long an exit waits for messages that have not been sent (ms): as long as systemd-notify waits for systemd to have read one. */
const MAX_WAIT_MS = 5_000;

/** Notifications to a service manager, as in sd_notify(3); `status` is for people. */
export interface ServiceManager {
  ready(status: string): void;
  reloading(status: string): void;
  stopping(status: string): void;
}

/** `sent` resolves when all messages have been sent, or can’t be in reasonable time. */
export type Connected = ServiceManager & { sent(): Promise<void> };

const SILENT: Connected = { ready: () => undefined, reloading: () => undefined, stopping: () => undefined, sent: () => Promise.resolve() };

/**
 * Notifies systemd with its own program, which exists wherever `NOTIFY_SOCKET` is set, since Node has no Unix datagram sockets.
 * Messages are sent one after another, since their order matters. @returns a manager that does nothing without systemd.
 */
export function serviceManager(env: NodeJS.ProcessEnv, clock: Clock, failed: (reason: string) => void): Connected {
  if (!env.NOTIFY_SOCKET) return SILENT;
  let last: Promise<void> = Promise.resolve();
  const send = (...words: string[]): void => {
    last = last.then(() => notify(words, failed));
  };
  return {
    ready: (status) => send('READY=1', `STATUS=${status}`),
    reloading: (status) => send('RELOADING=1', `MONOTONIC_USEC=${Math.floor(clock.monotonic() * 1_000)}`, `STATUS=${status}`),
    stopping: (status) => send('STOPPING=1', `STATUS=${status}`),
    sent: () => Promise.race([last, sleep(clock, MAX_WAIT_MS)]),
  };
}

/** Resolves also if it fails. */
function notify(words: readonly string[], failed: (reason: string) => void): Promise<void> {
  return notified(words, failed).catch((error: unknown) => failed(error instanceof Error ? error.message : String(error)));
}

/** Rejects with errors that Node throws instead of emitting them, such as ENOMEM. */
function notified(words: readonly string[], failed: (reason: string) => void): Promise<void> {
  return new Promise((resolve) => {
    const program = spawn('systemd-notify', words, { stdio: 'ignore' });
    program.once('error', (error) => {
      failed(error.message);
      resolve();
    });
    program.once('exit', (code) => {
      if (code !== null && code !== 0) failed(`systemd-notify ended with exit code ${code}`);
      resolve();
    });
  });
}
