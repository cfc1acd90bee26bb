import type { Random } from '../../../../shared/runtime/random.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Endpoint } from '../target/endpoint.ts';
import type { Balancer } from './balancer.ts';
import { type Candidate, STANDING, standingOf } from './candidate.ts';

/**
 * How often a target is drawn, until one is in rotation, before all are looked at. The next one in rotation would get the others' share.
 */
const MAX_DRAWS = 8;

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

  /** A random target in rotation other than `best`. */
  private draw(x: Exchange, now: number, best: Endpoint | null): Endpoint | null {
    const { turns, random } = this;
    for (let draw = 0; draw < MAX_DRAWS; draw++) {
      const candidate = turns[Math.floor(random.fraction() * turns.length)];
      if (candidate === undefined) return null;
      if (candidate.endpoint !== best && standingOf(candidate, now, x) === STANDING.usable) return candidate.endpoint;
    }
    return this.drawFromAll(x, now, best);
  }

  /** The same if few are in rotation. One that is ejected is only chosen if there is no other. */
  private drawFromAll(x: Exchange, now: number, best: Endpoint | null): Endpoint | null {
    let drawn: Endpoint | null = null;
    let bestStanding: number = best === null ? STANDING.lastResort : STANDING.usable;
    let count = 0;
    for (const candidate of this.turns) {
      if (candidate.endpoint === best) continue;
      const standing = standingOf(candidate, now, x);
      if (standing < bestStanding) continue;
      if (standing > bestStanding) count = 0;
      bestStanding = standing;
      // Each of those so far is the one with the same probability.
      if (this.random.fraction() * ++count < 1) drawn = candidate.endpoint;
    }
    return drawn;
  }
}
