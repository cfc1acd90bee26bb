import type { Clock } from '../../../shared/runtime/clock.ts';
import { detachAttempt, type Exchange } from '../exchange/exchange.ts';
import { FAILURE } from '../exchange/failure.ts';
import { guardExchange } from '../exchange/faults.ts';
import { isServedGrpc } from '../exchange/grpc.ts';

/**
 * Ends an exchange that is not complete within `ms`, no matter what it waits for: a target, a connection, its response, or a client that reads
 * slowly. A gRPC call brings its own deadline, and an upgrade has the limit of its response's head.
 */
export function limitTime(x: Exchange, ms: number, clock: Clock): void {
  // A request that is served again after a swap continues with the time it has left.
  if (x.cancelTimeLimit !== null || x.upgrade !== null || isServedGrpc(x)) return;
  x.cancelTimeLimit = clock.after(ms, () => guardExchange(x, () => expire(x)));
}

function expire(x: Exchange): void {
  const begun = x.status !== 0;
  // Nothing more is expected from the target, or it streams events without an end.
  if (begun && ((x.attempt === null && x.filtering === null) || streamsEvents(x))) return;
  const cancel = detachAttempt(x);
  x.trace?.spans?.attemptOver(FAILURE.requestTimeout);
  if (begun) {
    x.failure = FAILURE.requestTimeout.reason;
    x.lastFailure = FAILURE.requestTimeout;
    x.client.abort(x);
  } else x.upstream?.giveUp(x, FAILURE.requestTimeout);
  cancel();
}

const streamsEvents = ({ contentType }: Exchange): boolean => /^text\/event-stream\b/i.test(contentType ?? '');
