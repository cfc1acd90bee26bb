import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer, RoundRobin } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/** How targets compare for a request. */
export interface Ranking {
  /** The hash of the part of the request that counts; null if the request has no such part. */
  keyOf(x: Exchange): number | null;
  /** The target with the highest score is chosen, the first of several. */
  score(candidate: Candidate, key: number): number;
}

/** Chooses the best target, comparing all of them for every request. */
export class Ranked implements Balancer {
  private readonly candidates: readonly Candidate[];
  private readonly ranking: Ranking;
  private readonly roundRobin: RoundRobin;

  constructor(candidates: readonly Candidate[], ranking: Ranking, roundRobin: RoundRobin) {
    this.candidates = candidates;
    this.ranking = ranking;
    this.roundRobin = roundRobin;
  }

  pick(x: Exchange, now: number): Endpoint | null {
    const { candidates, ranking } = this;
    const key = ranking.keyOf(x);
    if (key === null) return this.roundRobin(x, now);
    let best: Endpoint | null = null;
    let bestStanding: number = STANDING.out;
    let bestScore = 0;
    for (const candidate of candidates) {
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
