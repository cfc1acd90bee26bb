import type { Progress } from './attempt.ts';
import type { Exchange } from './exchange.ts';
import type { Failure } from './failure.ts';
import { guardExchange } from './faults.ts';
import type { NamedEndpoint } from './named-endpoint.ts';
import type { OwnAnswer } from './own-answer.ts';

/*
 * Resumes an exchange in a later turn, from within other work. An exchange that has already ended is left alone,
 * and an exception ends only the exchange itself: nothing here throws.
 */

const proceed = (x: Exchange, act: (x: Exchange) => void): void => {
  if (x.status === 0) guardExchange(x, act);
};

/** Serves it as if it had just arrived, by the newest table and with all of its policies. */
export const serveLater = (x: Exchange): void => proceed(x, serve);

/** Not a closure for each request, because it serves every HTTP/2 request. */
const serve = (x: Exchange): void => x.requestPath.serve(x);

/** A policy that took time has decided; null continues with the policies after it. */
export const resumeLater = (x: Exchange, own: OwnAnswer | null): void => proceed(x, () => x.requestPath.resume(x, own));

/** An attempt has failed before any of the response was sent, so another target may be tried. */
export const attemptFailed = (x: Exchange, endpoint: NamedEndpoint, failure: Failure, progress: Progress): void =>
  proceed(x, () => x.upstream?.failed(x, endpoint, failure, progress));

/** Tries the targets again for a request that has waited. */
export const retryLater = (x: Exchange): void => proceed(x, () => x.upstream?.retry(x));

/** Answers in place of the upstream. */
export const giveUpLater = (x: Exchange, failure: Failure): void => proceed(x, () => x.upstream?.giveUp(x, failure));
