import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import { CHALLENGE_TYPES, type ChallengeType } from './challenge.ts';

/** Failed checks count against the limits of an authority: no more than this many in one attempt. */
const MAX_TYPES_PER_ATTEMPT = 2;

/** Which checks of a name are tried, in which order: what worked first, over restarts, what failed lately last. */
export class ChallengePreference {
  private readonly saved: PersistentMap<ChallengeType>;
  private readonly failures = new Map<string, Set<ChallengeType>>();
  private dns = false;

  constructor(stateDir: string, clock: Clock, log: Log) {
    const what = 'how authorities check names';
    const file = {
      path: join(stateDir, 'checks.json'),
      schema: z.enum(CHALLENGE_TYPES),
      what,
      cost: 'after a restart they begin with port 80',
    };
    this.saved = new PersistentMap(file, clock, log);
  }

  /** Whether records can be set. */
  allowDns(dns: boolean): void {
    this.dns = dns;
  }

  /** The checks of the next attempt. */
  typesFor(name: string): ChallengeType[] {
    if (name.startsWith('*.')) return ['dns-01'];
    const worked = this.saved.get(name);
    const failed = this.failures.get(name);
    const rank = (type: ChallengeType): number => (failed?.has(type) ? 2 : type === worked ? 0 : 1);
    return this.possible()
      .sort((one, other) => rank(one) - rank(other))
      .slice(0, MAX_TYPES_PER_ATTEMPT);
  }

  failed(name: string, type: ChallengeType): void {
    const types = this.failures.get(name) ?? new Set();
    // One that has had them all begins anew.
    if (this.possible().every((each) => types.has(each))) types.clear();
    this.failures.set(name, types.add(type));
  }

  worked(name: string, type: ChallengeType): void {
    this.failures.delete(name);
    // The usual way need not be remembered.
    const told = type === CHALLENGE_TYPES[0] ? null : type;
    if (this.saved.get(name) !== told) this.saved.set(name, told);
  }

  private possible(): ChallengeType[] {
    return CHALLENGE_TYPES.filter((type) => type !== 'dns-01' || this.dns);
  }
}

/**
 * Whether another check may succeed at once where this one failed. `problem` is the last word of the authority's problem
 * type (RFC 8555 6.7). A site that answers wrongly on port 80 does so on 443; one that can't be reached there may.
 */
export const isWorthTrying = (next: ChallengeType, failed: ChallengeType, problem: string | null): boolean =>
  next === 'dns-01' || failed !== 'http-01' || problem === 'connection';
