import { setImmediate as nextTurn } from 'node:timers/promises';

/** The maximum number of turns in which connections are accepted: under a flood of them, there is one in each. */
const MAX_TURNS = 256;

/**
 * Resolves when the system has no more connections for listening sockets, which it hands over one at a time: those in the queue of a socket
 * that is closed are reset. `accepted` is how many have been accepted so far.
 */
export async function acceptWaiting(accepted: () => number): Promise<void> {
  // Sockets are polled after the turn that has begun.
  await nextTurn();
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    const before = accepted();
    await nextTurn();
    if (accepted() === before) return;
  }
}

/** Resolves when everything has been read that clients had sent before: it is lost if their connections are closed first. */
export async function readWaiting(): Promise<void> {
  await nextTurn();
  await nextTurn();
}
