import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/**
 * The target with the fewest requests in flight from all workers, relative to its weight. Equal ones take turns in proportion to their
 * weights: if requests are short, most targets are idle most of the time, and the rest would decide about nearly all requests.
 */
export class LeastInFlight implements Balancer {
  private readonly candidates: readonly Candidate[];
  /** What each has saved up for its next turn. */
  private readonly credits: number[];
  /** The places of the equal ones, only used within `pick`. */
  private readonly equal: number[] = [];

  constructor(candidates: readonly Candidate[]) {
    this.candidates = candidates;
    this.credits = candidates.map(() => 0);
  }

  pick(x: Exchange, now: number): Endpoint | null {
    const { candidates, equal } = this;
    equal.length = 0;
    let bestStanding: number = STANDING.out;
    let lowest = Number.POSITIVE_INFINITY;
    for (let at = 0; at < candidates.length; at++) {
      const candidate = candidates[at] as Candidate;
      const standing = standingOf(candidate, now, x);
      if (standing === STANDING.out || standing < bestStanding) continue;
      const load = candidate.endpoint.inFlight / candidate.weight;
      if (standing === bestStanding && load > lowest) continue;
      if (standing > bestStanding || load < lowest) equal.length = 0;
      bestStanding = standing;
      lowest = load;
      equal.push(at);
    }
    return equal.length === 0 ? null : (candidates[this.turn()] as Candidate).endpoint;
  }

  /** Smooth weighted round robin among the equal ones. @returns the place of the one whose turn it is. */
  private turn(): number {
    const { candidates, credits, equal } = this;
    let best = equal[0] as number;
    if (equal.length === 1) return best;
    let total = 0;
    for (const at of equal) {
      const { weight } = candidates[at] as Candidate;
      total += weight;
      credits[at] = (credits[at] as number) + weight;
      if ((credits[at] as number) > (credits[best] as number)) best = at;
    }
    credits[best] = (credits[best] as number) - total;
    return best;
  }
}
