import { spawn } from 'node:child_process';
import type { Clock } from '../runtime/clock.ts';

/** What a service manager is told, in sd_notify(3)'s words; `status` is for people. */
export interface ServiceManager {
  ready(status: string): void;
  reloading(status: string): void;
  stopping(status: string): void;
}

const SILENT: ServiceManager = { ready: () => undefined, reloading: () => undefined, stopping: () => undefined };

/**
 * Tells systemd by its own program, which is there wherever `NOTIFY_SOCKET` is set: Node opens no datagram socket of the Unix kind.
 * One message after the other, since their order is their meaning. @returns one that says nothing where nobody listens.
 */
export function serviceManager(env: NodeJS.ProcessEnv, clock: Clock, failed: (reason: string) => void): ServiceManager {
  if (!env.NOTIFY_SOCKET) return SILENT;
  let last: Promise<void> = Promise.resolve();
  const tell = (...words: string[]): void => {
    last = last.then(() => notify(words, failed));
  };
  return {
    ready: (status) => tell('READY=1', `STATUS=${status}`),
    reloading: (status) => tell('RELOADING=1', `MONOTONIC_USEC=${Math.floor(clock.monotonic() * 1_000)}`, `STATUS=${status}`),
    stopping: (status) => tell('STOPPING=1', `STATUS=${status}`),
  };
}

function notify(words: readonly string[], failed: (reason: string) => void): Promise<void> {
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
