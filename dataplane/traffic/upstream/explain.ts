import { type BalancingSpec, USUAL_COOKIE } from '../../../shared/balancing/balancing.ts';
import { DEFAULT_LIMITS, type Limits } from '../exchange/limits.ts';
import type { Pool } from './pool/pool.ts';

/** Describes what would happen to a request that is forwarded to a pool at `now` (ms since 1970). Does not advance the round robin. */
export function explainPool(pool: Pool, holdMs: number, now: number): string {
  const next = pool.peek(now);
  const count = pool.endpoints.length;
  const { drainingCount } = pool;
  if (next === null && drainingCount > 0 && holdMs === 0)
    return `forwarded to ${drainingCount === 1 ? 'a target that was' : `one of ${drainingCount} targets that were`} told to stop: no other is in rotation`;
  if (next === null) return `503${holdMs > 0 ? ` after ${holdMs / 1_000} s` : ''}: no target of the pool is in rotation`;
  const all = count === 1 ? 'forwarded to its only target' : `forwarded to one of ${count} targets`;
  const failing = `, though ${count === 1 ? 'it' : 'each'} has failed several times in a row: 502 or 504 if it does so again`;
  return `${all}${count > 1 ? chosenBy(pool.balancing) : ''}${next.ejected(now) ? failing : ''}${describeConcurrency(pool)}${describeLimits(pool.limits)}`;
}

/** How the target is chosen, if not in turn. */
function chosenBy(balancing: BalancingSpec | null): string {
  const { policy, name = USUAL_COOKIE, choices = 2 } = balancing ?? { policy: 'round_robin' };
  switch (policy) {
    case 'round_robin':
      return '';
    case 'least_conn':
      return ', the one with the fewest requests in flight';
    case 'random':
      return ', a random one';
    case 'random_choose':
      return `, the one of ${choices} random ones with the fewest requests in flight`;
    case 'first':
      return ', the first that is in rotation';
    case 'ip_hash':
    case 'client_ip_hash':
      return ", the same one for each client's address";
    case 'uri_hash':
      return ', the same one for each path and query';
    case 'header':
      return `, the same one for each value of the header ${name}`;
    case 'query':
      return `, the same one for each value of the query parameter ${name}`;
    case 'cookie':
      return `, the one that the cookie ${name} selects`;
  }
}

function describeConcurrency({ maxInFlight, maxQueued, queueMs }: Pool): string {
  if (maxInFlight === 0) return '';
  const more = maxQueued === 0 ? 'more are answered with 503' : `${maxQueued} more wait for up to ${queueMs / 1_000} s`;
  return `; each gets at most ${maxInFlight} at once, ${more}`;
}

/** Time limits that the site or block sets itself. */
function describeLimits({ connectMs, headMs, bodyIdleMs, wholeMs }: Limits): string {
  const within = (ms: number): string => (ms === Number.POSITIVE_INFINITY ? 'at any time' : `within ${ms / 1_000} s`);
  const parts = [
    connectMs === null ? '' : `connects ${within(connectMs)}`,
    headMs === DEFAULT_LIMITS.headMs ? '' : `begins its response ${within(headMs)}`,
    bodyIdleMs === DEFAULT_LIMITS.bodyIdleMs ? '' : `sends the next piece of it ${within(bodyIdleMs)}`,
    wholeMs === DEFAULT_LIMITS.wholeMs ? '' : `completes it ${within(wholeMs)}`,
  ].filter((words) => words !== '');
  return parts.length === 0 ? '' : `; it ${parts.join(', ')}, or the response is 504`;
}
