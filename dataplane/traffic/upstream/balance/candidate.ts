import type { Exchange } from '../../exchange/exchange.ts';
import type { HealthFlag } from '../health/health-flag.ts';
import type { Endpoint } from '../target/endpoint.ts';

/** A target that may get requests. */
export type Candidate = {
  readonly endpoint: Endpoint;
  readonly weight: number;
  readonly healthFlag: HealthFlag | null;
  /** A hash of its name, the same in every worker and after a restart. */
  readonly hash: number;
  /** The maximum number of concurrent requests; 0 is no limit. */
  readonly maxInFlight: number;
};

export const STANDING = { out: 0, lastResort: 1, usable: 2 } as const;
export type Standing = (typeof STANDING)[keyof typeof STANDING];

/** Whether a target may get a request, which has failed at the targets in `tried`. Passive health never removes a pool's last target. */
export function standingOf({ endpoint, healthFlag, maxInFlight }: Candidate, now: number, x: Exchange): Standing {
  if (x.tried?.includes(endpoint) || healthFlag?.isOut || (maxInFlight > 0 && endpoint.inFlight >= maxInFlight)) return STANDING.out;
  return endpoint.ejectedFor(x, now) ? STANDING.lastResort : STANDING.usable;
}
