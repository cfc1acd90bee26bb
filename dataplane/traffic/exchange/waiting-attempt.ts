import type { Attempt } from './attempt.ts';

/** The attempt of an exchange that waits: nothing of it has been sent, or it may be sent again. Its client is not read from meanwhile. */
export abstract class WaitingAttempt implements Attempt {
  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a waiting request does not stream a body');
  }

  resume(): void {
    // No answer is being received yet.
  }

  abstract cancel(): void;
}
