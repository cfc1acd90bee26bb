import { foldedName } from '../codec/http1/field-names.ts';
import { answer } from './answer.ts';
import type { Attempt } from './attempt.ts';
import type { BodyLimit } from './body-limit.ts';
import { detachAttempt, type Exchange } from './exchange.ts';

/** Passes a piece of a request's body to the attempt, within the limit. @returns false when the client should pause. */
export function passBody(x: Exchange, buffer: Buffer, from: number, to: number): boolean {
  if (x.bodyLimit !== null && exceeds(x, x.bodyLimit, to - from)) return true;
  return x.attempt === null || x.attempt.body(buffer, from, to);
}

/** Passes to the attempt what another one has got of a body in vain. @returns false when the rest should wait. */
export function passStart(x: Exchange): boolean {
  const { attempt, bodyStart } = x;
  x.bodyStart = null;
  return bodyStart === null || attempt === null || attempt.body(bodyStart, 0, bodyStart.length);
}

/** Streams the body of a request to its attempt: first what another one has got of it in vain. */
export function streamBody(x: Exchange): void {
  passStart(x);
  x.client.streamBody(x);
}

/**
 * Whether a body that has been sent to `receiver` has to wait: another attempt has replaced that one and not requested it yet, or none has,
 * because a newer table is still deciding about the request.
 */
export const hasToWait = ({ attempt, status }: Exchange, receiver: Attempt | null): boolean =>
  attempt === null ? status === 0 : attempt !== receiver;

/** Passes the end of a request's body to the attempt. `trailers` are whole lines or empty. */
export function endBody(x: Exchange, trailers: string): void {
  x.attempt?.bodyEnd(trailers === '' ? '' : withoutDecidedFields(x, trailers));
}

/** The trailers without those that an upstream could take for a field that the site decides about. */
function withoutDecidedFields({ block }: Exchange, trailers: string): string {
  const decides = block?.decidesField ?? null;
  if (decides === null) return trailers;
  return trailers
    .split('\r\n')
    .filter((line) => line === '' || !decides(foldedName(line.slice(0, line.indexOf(':')))))
    .join('\r\n');
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
