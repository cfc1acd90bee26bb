import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer, RoundRobin } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/** How targets compare for a request. */
export interface Ranking {
  /** The hash of the part of the request that counts; null if the request has no such part. */
  keyOf(x: Exchange): number | null;
  /** The target with the highest score is chosen. */
  score(candidate: Candidate, key: number): number;
  /** Whether each request begins with the next target, so that equal ones take turns. */
  readonly takesTurns: boolean;
}

/** Chooses the best target, comparing all of them for every request. */
export class Ranked implements Balancer {
  private readonly candidates: readonly Candidate[];
  private readonly ranking: Ranking;
  private readonly roundRobin: RoundRobin;
  private next = 0;

  constructor(candidates: readonly Candidate[], ranking: Ranking, roundRobin: RoundRobin) {
    this.candidates = candidates;
    this.ranking = ranking;
    this.roundRobin = roundRobin;
  }

  pick(x: Exchange, now: number): Endpoint | null {
    const { candidates, ranking } = this;
    const key = ranking.keyOf(x);
    if (key === null) return this.roundRobin(x, now);
    const count = candidates.length;
    const first = ranking.takesTurns && count > 0 ? this.next++ % count : 0;
    let best: Endpoint | null = null;
    let bestStanding: number = STANDING.out;
    let bestScore = 0;
    for (let step = 0; step < count; step++) {
      const candidate = candidates[(first + step) % count] as Candidate;
      const standing = standingOf(candidate, now, x);
      if (standing === STANDING.out || standing < bestStanding) continue;
      const score = ranking.score(candidate, key);
      if (standing === bestStanding && score <= bestScore) continue;
      best = candidate.endpoint;
      bestStanding = standing;
      bestScore = score;
    }
    return best;
  }
}
