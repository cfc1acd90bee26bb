import { answer } from './answer.ts';
import type { BodyLimit } from './body-limit.ts';
import { detachAttempt, type Exchange } from './exchange.ts';

/** Passes a piece of a request's body to the attempt, within the limit. @returns false when the client should pause. */
export function passBody(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
  if (x.bodyLimit !== null && exceeds(x, x.bodyLimit, to - from)) return true;
  return x.attempt === null || x.attempt.body(buffer, from, to);
}

function exceeds(x: Exchange, limit: BodyLimit, bytes: number): boolean {
  if (bytes <= limit.left) {
    limit.left -= bytes;
    return false;
  }
  x.bodyLimit = null;
  const cancel = detachAttempt(x);
  if (x.status === 0) answer(x, limit.tooLarge);
  else x.client.abort(x);
  cancel();
  return true;
}
