import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/**
 * The target with the fewest requests in flight from all workers, relative to its weight. If requests are short, most targets are idle most
 * of the time, and the rest would decide about nearly all requests: equal ones therefore take turns, and those with different weights in
 * proportion to these, as long as none is busier than the least busy one would be with one request more.
 */
export class LeastInFlight implements Balancer {
  private readonly candidates: readonly Candidate[];
  /** Whether all have the same weight. */
  private readonly isEven: boolean;
  /** The place behind the one that was chosen last: of equal ones with the same weight, the next in the list is chosen. */
  private next = 0;
  /** What each has saved up for its next turn, if weights differ. */
  private readonly credits: number[];
  /** The places of those that may be chosen, only used within `pick`, if weights differ. */
  private readonly places: number[] = [];

  constructor(candidates: readonly Candidate[]) {
    this.candidates = candidates;
    this.isEven = candidates.every(({ weight }) => weight === candidates[0]?.weight);
    this.credits = candidates.map(() => 0);
  }

  pick(x: Exchange, now: number): Endpoint | null {
    const { candidates, isEven, places } = this;
    const count = candidates.length;
    let best = -1;
    let bestStanding: number = STANDING.out;
    let lowest = Number.POSITIVE_INFINITY;
    places.length = 0;
    for (let step = 0; step < count; step++) {
      const at = (this.next + step) % count;
      const candidate = candidates[at] as Candidate;
      const standing = standingOf(candidate, now, x);
      if (standing === STANDING.out || standing < bestStanding) continue;
      if (standing > bestStanding) {
        bestStanding = standing;
        lowest = Number.POSITIVE_INFINITY;
        places.length = 0;
      }
      if (!isEven) places.push(at);
      const { inFlight } = candidate.endpoint;
      const load = isEven ? inFlight : (inFlight + 1) / candidate.weight;
      if (load >= lowest) continue;
      best = at;
      lowest = load;
    }
    if (best === -1) return null;
    if (!isEven) best = this.turn(lowest);
    this.next = (best + 1) % count;
    return (candidates[best] as Candidate).endpoint;
  }

  /**
   * Smooth weighted round robin among those that are less busy than `lowest`, the relative load of the least busy one with one request more.
   * @returns the place of the one whose turn it is.
   */
  private turn(lowest: number): number {
    const { candidates, credits, places } = this;
    let best = -1;
    let total = 0;
    for (const at of places) {
      const { endpoint, weight } = candidates[at] as Candidate;
      if (endpoint.inFlight / weight >= lowest) continue;
      total += weight;
      credits[at] = (credits[at] as number) + weight;
      if (best === -1 || (credits[at] as number) > (credits[best] as number)) best = at;
    }
    credits[best] = (credits[best] as number) - total;
    return best;
  }
}
