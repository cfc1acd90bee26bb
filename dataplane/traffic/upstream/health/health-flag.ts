import type { HealthCheck } from '../../../ledger/health-checks.ts';
import { CHECK_RESULT, type Targets } from '../../../ledger/targets.ts';

/** What the main thread knows about a target, as currently in the ledger. */
export class HealthFlag {
  private readonly targets: Targets;
  private readonly slot: number;
  private readonly outAtFirst: boolean;

  constructor(targets: Targets, { key, outAtFirst }: HealthCheck, now: number) {
    this.targets = targets;
    this.slot = targets.claim(key, now);
    this.outAtFirst = outAtFirst;
  }

  /** Whether its health is not known yet: its first check is under way. */
  get undecided(): boolean {
    return this.outAtFirst && this.targets.checkResult(this.slot) === CHECK_RESULT.none;
  }

  /** When the last check that failed was followed by one that passed, in ms since 1970; 0 if none was. */
  get healthySince(): number {
    return this.targets.backSince(this.slot);
  }

  /** Whether it keeps the target out of rotation. */
  get isOut(): boolean {
    const verdict = this.targets.checkResult(this.slot);
    return verdict === CHECK_RESULT.unhealthy || (this.outAtFirst && verdict === CHECK_RESULT.none);
  }
}
