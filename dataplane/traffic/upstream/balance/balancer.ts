import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';

/** Chooses the target of a request, other than by round robin. */
export interface Balancer {
  /** A target that is in rotation and has not failed this request; null if there is none. `now` in ms since 1970. */
  pick(x: Exchange, now: number): Endpoint | null;
}

/** The fallback for requests that a policy does not apply to. */
export type RoundRobin = (x: Exchange, now: number) => Endpoint | null;
