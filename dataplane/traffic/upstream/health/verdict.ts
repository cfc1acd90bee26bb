import type { Exchange } from '../../exchange/exchange.ts';
import { FAILURE, type Failure } from '../../exchange/failure.ts';
import type { Endpoint } from '../target/endpoint.ts';
import { passiveHealthFor } from './passive-health.ts';

/** A final response with this status has begun: records what it says about the target. */
export function judge(x: Exchange, endpoint: Endpoint, status: number): void {
  const passive = passiveHealthFor(x);
  if (passive.failing?.has(status)) endpoint.blame(FAILURE.badStatus, passive, x.client);
  else endpoint.succeeded(passive);
}

/** Like `judge`. @returns whether another target is to be tried instead of using the response. */
export function retriesElsewhere(x: Exchange, endpoint: Endpoint, status: number): boolean {
  judge(x, endpoint, status);
  return status >= 400 && x.upstream?.retriesStatus(x, endpoint, status) === true;
}

/** How a target ends a response, also one that its client reads too slowly for it. */
const ENDS: ReadonlySet<Failure> = new Set([FAILURE.closed, FAILURE.reset]);

/**
 * Records that the target has failed in the middle of its response, which is truncated. Servers give up a response if they can't send it
 * for some time, or at once if too much waits to be sent: any client can make them do so by reading nothing.
 */
export function failedMidResponse(x: Exchange, endpoint: Endpoint, failure: Failure): void {
  x.failure = failure.reason;
  x.lastFailure = failure;
  x.trace?.spans?.attemptOver(failure);
  if (!x.holdsTarget || !ENDS.has(failure)) blame(x, endpoint, failure);
}

/** A request to upgrade was not answered although the connection was established. */
export const blameForUpgrade = (x: Exchange, endpoint: Endpoint, failure: Failure): void =>
  endpoint.blameForUpgrade(failure, passiveHealthFor(x), x.client);

/** An attempt has failed. `sent`: whether a byte of the request was. */
export const blame = (x: Exchange, endpoint: Endpoint, failure: Failure, sent = true): void =>
  endpoint.blame(failure, passiveHealthFor(x), x.client, sent);
