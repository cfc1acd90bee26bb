import type { Random } from '../../../../shared/runtime/random.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/** The target with the fewest requests in flight among a few random ones, each drawn in proportion to its weight. */
export class RandomChoice implements Balancer {
  /** Each candidate, repeated according to its weight. */
  private readonly turns: readonly Candidate[];
  private readonly choices: number;
  private readonly random: Random;

  constructor(turns: readonly Candidate[], choices: number, random: Random) {
    this.turns = turns;
    this.choices = choices;
    this.random = random;
  }

  pick(x: Exchange, now: number): Endpoint | null {
    let best: Endpoint | null = null;
    let lowest = Number.POSITIVE_INFINITY;
    for (let choice = 0; choice < this.choices; choice++) {
      const drawn = this.draw(x, now, best);
      if (drawn === null) break;
      const load = this.choices === 1 ? 0 : drawn.inFlight;
      if (load >= lowest) continue;
      best = drawn;
      lowest = load;
    }
    return best;
  }

  /** A random target other than `best`. A target that is out of rotation is replaced by the next one in rotation. */
  private draw(x: Exchange, now: number, best: Endpoint | null): Endpoint | null {
    const { turns } = this;
    const first = Math.floor(this.random.fraction() * turns.length);
    let lastResort: Endpoint | null = null;
    for (let step = 0; step < turns.length; step++) {
      const candidate = turns[(first + step) % turns.length] as Candidate;
      if (candidate.endpoint === best) continue;
      const standing = standingOf(candidate, now, x);
      if (standing === STANDING.usable) return candidate.endpoint;
      if (standing === STANDING.lastResort) lastResort ??= candidate.endpoint;
    }
    // An ejected target is only chosen if there is no other.
    return best === null ? lastResort : null;
  }
}
