import { type Backoff, createBackoff } from '../../shared/runtime/backoff.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { CHECK_RESULT, type CheckResult, type Targets } from '../ledger/targets.ts';
import { tryConnection } from './connection.ts';
import { requestPage } from './page.ts';
import type { Semaphore } from './semaphore.ts';
import type { WantedCheck } from './wanted-checks.ts';

/** Until a target has passed for the first time, it is checked again after this long (ms), doubled up to the second figure. */
const FIRST_MS = 50;
const FIRST_MOST_MS = 1_000;
/** Failures in a row that take out a target that was in rotation. */
const FAILURES_TO_LEAVE = 2;
/** Each interval is shortened or lengthened by up to this share, so that checks spread. */
const JITTER = 0.1;

export type CheckTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly targets: Targets;
  readonly semaphore: Semaphore;
  /** The target has come into rotation, has left it, or stays out for another reason. */
  readonly changed: (wanted: WantedCheck, healthy: boolean, reason: string) => void;
};

/** One check of one target: its runs, and what they found. */
export class CheckSession {
  private readonly tools: CheckTools;
  /** As the routes that name the target want it, by domain. */
  private readonly byDomain = new Map<string, readonly WantedCheck[]>();
  private readonly slot: number;
  private readonly backoff: Backoff;
  private wanted: WantedCheck;
  private result: CheckResult = CHECK_RESULT.none;
  private failures = 0;
  private lastReason = '';
  /** Ends the run that is under way, or the time until the next one; null while there is neither. */
  private cancel: (() => void) | null = null;

  constructor(first: WantedCheck, tools: CheckTools) {
    this.tools = tools;
    this.wanted = first;
    this.slot = tools.targets.claim(first.check.key, tools.clock.now());
    this.backoff = createBackoff(tools.random, FIRST_MS, FIRST_MOST_MS);
    // The slot may still hold the result of an earlier target.
    tools.targets.setCheckResult(this.slot, CHECK_RESULT.none);
  }

  /** Sets what a route wants now; an empty list where it no longer names the target. @returns whether any route still does. */
  want(domain: string, wanted: readonly WantedCheck[]): boolean {
    if (wanted.length === 0) this.byDomain.delete(domain);
    else this.byDomain.set(domain, wanted);
    const all = [...this.byDomain.values()].flat();
    const active = all.filter((each) => each.active);
    const [most] = (active.length > 0 ? active : all).sort((a, b) => a.intervalMs - b.intervalMs);
    if (most === undefined) return false;
    this.wanted = most;
    if (!most.active) this.stop();
    else if (this.cancel === null && !this.isSettled) this.run();
    return true;
  }

  /** Whether the check is active and has not had a result yet. */
  get isPending(): boolean {
    return this.wanted.active && this.result === CHECK_RESULT.none && this.lastReason === '';
  }

  /** The latest result; null where the check is not active or pending. */
  get latest(): { readonly wanted: WantedCheck; readonly healthy: boolean; readonly reason: string } | null {
    const { wanted } = this;
    if (!wanted.active || this.isPending) return null;
    return { wanted, healthy: !this.isOut, reason: this.isOut ? this.reason : '' };
  }

  /** Why the target is out of rotation, for people; empty where it is not. */
  get reason(): string {
    if (this.result === CHECK_RESULT.healthy) return '';
    if (this.result === CHECK_RESULT.unhealthy || !this.wanted.check.outAtFirst) return this.lastReason;
    return `not ${this.wanted.check.page === null ? 'probed' : 'checked'} yet${this.lastReason === '' ? '' : `: ${this.lastReason}`}`;
  }

  /** Keeps its slot in the ledger from being given to another target. */
  keepSlot(): void {
    this.tools.targets.used(this.slot, this.tools.clock.now());
  }

  /** No route names the target any more: if one does later, its check starts anew. */
  forget(): void {
    this.stop();
    this.tools.targets.setCheckResult(this.slot, CHECK_RESULT.none);
  }

  /** Pauses the check until a route wants it again; its result holds. */
  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.failures = 0;
    this.backoff.reset();
  }

  /** One successful connection is enough for good; a page is requested again and again. */
  private get isSettled(): boolean {
    return this.wanted.check.page === null && this.result === CHECK_RESULT.healthy;
  }

  private run(): void {
    const { clock, semaphore } = this.tools;
    const { wanted } = this;
    let stop: () => void = () => undefined;
    let release: () => void = () => undefined;
    const leaveQueue = semaphore.acquire((released) => {
      release = released;
      const done = (reason: string | null): void => {
        released();
        this.finished(reason);
      };
      const { page } = wanted.check;
      stop = page === null ? tryConnection(wanted.address, clock, done) : requestPage(wanted, page, clock, done);
    });
    this.cancel = () => {
      leaveQueue();
      stop();
      release();
    };
  }

  private finished(reason: string | null): void {
    const before = this.reason;
    this.cancel = null;
    const was = this.result;
    this.failures = reason === null ? 0 : this.failures + 1;
    this.lastReason = reason ?? '';
    if (reason === null) this.setResult(CHECK_RESULT.healthy);
    else if (this.takesOut(was)) this.setResult(CHECK_RESULT.unhealthy);
    if (this.result !== was || (this.isOut && this.reason !== before)) this.tools.changed(this.wanted, !this.isOut, this.reason);
    if (!this.isSettled) this.cancel = this.tools.clock.after(this.delay(reason === null), () => this.run());
  }

  /** Whether a failure takes out a target that was in rotation until now. */
  private takesOut(was: CheckResult): boolean {
    const entering = was === CHECK_RESULT.none && this.wanted.check.outAtFirst;
    return !entering && this.failures >= FAILURES_TO_LEAVE;
  }

  private get isOut(): boolean {
    return this.result === CHECK_RESULT.unhealthy || (this.result === CHECK_RESULT.none && this.wanted.check.outAtFirst);
  }

  private setResult(result: CheckResult): void {
    this.result = result;
    this.tools.targets.setCheckResult(this.slot, result);
  }

  /** Milliseconds until the next run. */
  private delay(passed: boolean): number {
    const { check, intervalMs } = this.wanted;
    if (!passed && this.result === CHECK_RESULT.none && check.outAtFirst) return this.backoff.next();
    return Math.round(intervalMs * (1 + JITTER * (2 * this.tools.random.fraction() - 1)));
  }
}
