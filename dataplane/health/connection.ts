import { connect, type LookupFunction } from 'node:net';
import type { Clock } from '../../shared/runtime/clock.ts';
import { connectOptions } from '../../shared/values/address.ts';
import { describeConnectionError } from './connection-error.ts';

/** How long a connection may take to be established (ms). */
const CONNECT_MS = 1_000;
/**
 * How long it must stay open (ms): a container engine's proxy accepts connections for an app that isn't listening yet, and then closes
 * them.
 */
const OPEN_MS = 100;

export type ConnectTools = {
  readonly clock: Clock;
  /** Finds the addresses of a name. */
  readonly lookup: LookupFunction;
};

/**
 * Whether a target accepts connections. `done` is called with null, or with the reason why not.
 * @returns a function that cancels it; then `done` is not called.
 */
export function tryConnection(address: string, { clock, lookup }: ConnectTools, done: (reason: string | null) => void): () => void {
  const socket = connect({ ...connectOptions(address), lookup });
  let over = false;
  const stop = (): void => {
    over = true;
    cancel();
    socket.destroy();
  };
  const settle = (reason: string | null): void => {
    if (over) return;
    stop();
    done(reason);
  };
  let cancel = clock.after(CONNECT_MS, () => settle(`no connection within ${CONNECT_MS / 1_000} s`));
  socket.once('connect', () => {
    cancel();
    if (!over) cancel = clock.after(OPEN_MS, () => settle(null));
  });
  socket.on('error', (error: NodeJS.ErrnoException) => settle(describeConnectionError(error)));
  socket.once('end', () => settle('it closed the connection immediately'));
  socket.once('close', () => settle('it closed the connection immediately'));
  // Unread bytes would delay the 'end' event.
  socket.resume();
  return stop;
}
