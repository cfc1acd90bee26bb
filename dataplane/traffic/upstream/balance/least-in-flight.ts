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
  /** Whether all have the same weight. */
  private readonly isEven: boolean;
  /** The place behind the one that was chosen last: of equal ones with the same weight, the next in the list is chosen. */
  private next = 0;
  /** The lowest weight. */
  private readonly lightest: number;
  /** What each has saved up for its next turn, if weights differ. */
  private readonly credits: number[];
  /** The places of the equal ones, only used within `pick`, if weights differ. */
  private readonly equal: number[] = [];

  constructor(candidates: readonly Candidate[]) {
    this.candidates = candidates;
    this.isEven = candidates.every(({ weight }) => weight === candidates[0]?.weight);
    this.lightest = Math.min(...candidates.map(({ weight }) => weight));
    this.credits = candidates.map(() => 0);
  }

  pick(x: Exchange, now: number): Endpoint | null {
    const { candidates, isEven, equal } = this;
    const count = candidates.length;
    let best = -1;
    let bestStanding: number = STANDING.out;
    let lowest = Number.POSITIVE_INFINITY;
    for (let step = 0; step < count; step++) {
      const at = (this.next + step) % count;
      const candidate = candidates[at] as Candidate;
      const standing = standingOf(candidate, now, x);
      if (standing === STANDING.out || standing < bestStanding) continue;
      const load = isEven ? candidate.endpoint.inFlight : this.relativeLoad(candidate);
      if (standing === bestStanding && load >= lowest) {
        if (!isEven && load === lowest) equal.push(at);
        continue;
      }
      best = at;
      bestStanding = standing;
      lowest = load;
      if (isEven) continue;
      equal.length = 0;
      equal.push(at);
    }
    if (best === -1) return null;
    if (!isEven && equal.length > 1) best = this.turn();
    this.next = (best + 1) % count;
    return (candidates[best] as Candidate).endpoint;
  }

  /**
   * How many times the requests of the lightest target, for one of its own. Targets of which none has more than that are equal, or else one
   * with a hundredth of the weight, whenever it is idle, would come before one with a single request.
   */
  private relativeLoad({ endpoint, weight }: Candidate): number {
    return Math.floor((endpoint.inFlight * this.lightest) / weight);
  }

  /** Smooth weighted round robin among the equal ones. @returns the place of the one whose turn it is. */
  private turn(): number {
    const { candidates, credits, equal } = this;
    let best = equal[0] as number;
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
