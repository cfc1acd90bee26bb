import type { Progress } from './attempt.ts';
import type { Exchange, NamedEndpoint } from './exchange.ts';
import type { Failure } from './failure.ts';
import { onBehalf } from './faults.ts';
import type { OwnAnswer } from './own-answer.ts';

/*
 * How an exchange goes on in a later turn, in the course of something else. One that has its end by now is left alone,
 * whoever may still be at it, and what is thrown is its own matter: nothing here throws.
 */

const proceed = (x: Exchange, act: () => void): void => {
  if (x.status === 0) onBehalf(x, act);
};

/** Serves it as if it had just come: by the newest table, with all of its policies. */
export const serveLater = (x: Exchange): void => proceed(x, () => x.requestPath.serve(x));

/** A policy has decided at last: null asks those after it. */
export const resumeLater = (x: Exchange, own: OwnAnswer | null): void => proceed(x, () => x.requestPath.resume(x, own));

/** An attempt has failed before the client saw anything of an answer: another target may be tried. */
export const attemptFailed = (x: Exchange, endpoint: NamedEndpoint, failure: Failure, progress: Progress): void =>
  proceed(x, () => x.upstream?.failed(x, endpoint, failure, progress));

/** Tries the targets again for a request that has waited. */
export const retryLater = (x: Exchange): void => proceed(x, () => x.upstream?.retry(x));

/** Answers for the upstream. */
export const giveUpLater = (x: Exchange, failure: Failure): void => proceed(x, () => x.upstream?.giveUp(x, failure));
