import { join } from 'node:path';
import * as z from 'zod';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import { PersistentMap } from '../../store/persistent-map.ts';
import { CHALLENGE_TYPES, type ChallengeType } from './challenge.ts';

/** Failed validations count against the authority's rate limits, so one attempt tries no more types than this. */
const MAX_TYPES_PER_ATTEMPT = 2;

/** Orders the challenge types for a name: the one that last worked first (kept over restarts), recently failed ones last. */
export class ChallengePreference {
  private readonly saved: PersistentMap<ChallengeType>;
  private readonly failures = new Map<string, Set<ChallengeType>>();
  private dns = false;

  constructor(stateDir: string, clock: Clock, log: Log) {
    const what = 'which challenge worked for which name';
    const file = {
      path: join(stateDir, 'checks.json'),
      schema: z.enum(CHALLENGE_TYPES),
      what,
      cost: 'after a restart HTTP-01 is tried first',
    };
    this.saved = new PersistentMap(file, clock, log);
  }

  /** Whether DNS records can be set. */
  allowDns(dns: boolean): void {
    this.dns = dns;
  }

  /** The challenge types for the next attempt. `begun`: the one that an earlier process was at, whose order goes on; null for none. */
  typesFor(name: string, begun: ChallengeType | null = null): ChallengeType[] {
    if (name.startsWith('*.')) return ['dns-01'];
    const worked = begun ?? this.saved.get(name);
    const failed = this.failures.get(name);
    const rank = (type: ChallengeType): number => (failed?.has(type) ? 2 : type === worked ? 0 : 1);
    return this.possible()
      .sort((one, other) => rank(one) - rank(other))
      .slice(0, MAX_TYPES_PER_ATTEMPT);
  }

  failed(name: string, type: ChallengeType): void {
    const types = this.failures.get(name) ?? new Set();
    // Once all of them have failed, start over.
    if (this.possible().every((each) => types.has(each))) types.clear();
    this.failures.set(name, types.add(type));
  }

  worked(name: string, type: ChallengeType): void {
    this.failures.delete(name);
    // The default need not be saved.
    const value = type === CHALLENGE_TYPES[0] ? null : type;
    if (this.saved.get(name) !== value) this.saved.set(name, value);
  }

  /** As `PersistentMap.release`. */
  release(): Promise<void> {
    return this.saved.release();
  }

  reclaim(): void {
    this.saved.reclaim();
  }

  private possible(): ChallengeType[] {
    return CHALLENGE_TYPES.filter((type) => type !== 'dns-01' || this.dns);
  }
}

/**
 * Whether another challenge type may succeed right after this one failed. `problem` is the last part of the problem type
 * (RFC 8555 6.7). A site that gives a wrong answer on port 80 will on 443 too, but if port 80 is unreachable, 443 may work.
 */
export const isWorthTrying = (next: ChallengeType, failed: ChallengeType, problem: string | null): boolean =>
  next === 'dns-01' || failed !== 'http-01' || problem === 'connection';
