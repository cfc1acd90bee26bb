import { type Backoff, createBackoff } from '../../shared/runtime/backoff.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { CHECK_RESULT, type CheckResult, type Targets } from '../ledger/targets.ts';
import { type ConnectTools, tryConnection } from './connection.ts';
import { requestPage } from './page.ts';
import type { Semaphore } from './semaphore.ts';
import type { WantedCheck } from './wanted-checks.ts';

/** Delay between checks until a target passes for the first time (ms): the first figure, doubled up to the second. */
const FIRST_MS = 50;
const FIRST_MAX_MS = 1_000;
/** Each interval varies by up to this fraction, so that checks spread over time. */
const JITTER = 0.1;

export type CheckTools = ConnectTools & {
  readonly random: Random;
  readonly targets: Targets;
  readonly semaphore: Semaphore;
  /** Called when the target enters or leaves rotation, or stays out for a different reason. */
  readonly changed: (wanted: WantedCheck, healthy: boolean, reason: string) => void;
};

/** One check of one target: its runs and their result. */
export class CheckSession {
  private readonly tools: CheckTools;
  /** How the routes that name the target want it checked, by domain. */
  private readonly byDomain = new Map<string, readonly WantedCheck[]>();
  private readonly slot: number;
  private readonly backoff: Backoff;
  private wanted: WantedCheck;
  private result: CheckResult = CHECK_RESULT.none;
  private failures = 0;
  private passes = 0;
  private lastReason = '';
  /** Cancels the current run, or the timer for the next one; null if there is neither. */
  private cancel: (() => void) | null = null;

  constructor(first: WantedCheck, tools: CheckTools) {
    this.tools = tools;
    this.wanted = first;
    this.slot = tools.targets.claim(first.check.key, tools.clock.now());
    this.backoff = createBackoff(tools.random, FIRST_MS, FIRST_MAX_MS);
    // The slot may still hold the result of an earlier target.
    tools.targets.setCheckResult(this.slot, CHECK_RESULT.none, tools.clock.now());
  }

  /** Notes the checks that a route wants; an empty list means that it no longer names the target. `settle` follows. */
  want(domain: string, wanted: readonly WantedCheck[]): void {
    if (wanted.length === 0) this.byDomain.delete(domain);
    else this.byDomain.set(domain, wanted);
  }

  /** Does what the routes want, once for all that were published together. @returns whether any of them names the target. */
  settle(): boolean {
    const most = this.mostWanted();
    if (most === undefined) return false;
    this.wanted = most;
    if (!most.active) this.stop();
    else if (this.cancel === null && !this.isSettled) this.run();
    return true;
  }

  /** Whether the check is active and has no result yet. */
  get isPending(): boolean {
    return this.wanted.active && this.result === CHECK_RESULT.none && this.lastReason === '';
  }

  /** The latest result; null if the check is inactive or pending. */
  get latest(): { readonly wanted: WantedCheck; readonly healthy: boolean; readonly reason: string } | null {
    const { wanted } = this;
    if (!wanted.active || this.isPending) return null;
    return { wanted, healthy: !this.isOut, reason: this.isOut ? this.reason : '' };
  }

  /** Human-readable reason why the target is out of rotation; empty if it is in rotation. */
  get reason(): string {
    if (this.result === CHECK_RESULT.healthy) return '';
    if (this.result === CHECK_RESULT.unhealthy || !this.wanted.check.outAtFirst) return this.lastReason;
    return `not ${this.wanted.check.page === null ? 'probed' : 'checked'} yet${this.lastReason === '' ? '' : `: ${this.lastReason}`}`;
  }

  /** Marks the slot in the ledger as in use, so that it isn't given to another target. */
  keepSlot(): void {
    this.tools.targets.used(this.slot, this.tools.clock.now());
  }

  /** Called when no route names the target any more. If one does later, its check starts from scratch. */
  forget(): void {
    this.stop();
    this.tools.targets.setCheckResult(this.slot, CHECK_RESULT.none, this.tools.clock.now());
  }

  /** Pauses the check until a route wants it again; the result is kept. */
  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.failures = 0;
    this.passes = 0;
    this.backoff.reset();
  }

  /** The active check with the shortest interval, the first of several; without an active one, the one whose result is kept. */
  private mostWanted(): WantedCheck | undefined {
    let most: WantedCheck | undefined;
    for (const wanted of this.byDomain.values()) for (const each of wanted) if (most === undefined || isWantedMore(each, most)) most = each;
    return most;
  }

  /** A probe is done after one successful connection; a page is requested repeatedly. */
  private get isSettled(): boolean {
    return this.wanted.check.page === null && this.result === CHECK_RESULT.healthy;
  }

  private run(): void {
    const { semaphore } = this.tools;
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
      stop = page === null ? tryConnection(wanted.address, this.tools, done) : requestPage(wanted, page, this.tools, done);
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
    this.passes = reason === null ? this.passes + 1 : 0;
    // While a target has not passed often enough, it is out for the reason of its last failure.
    if (reason !== null || this.bringsBack(was)) this.lastReason = reason ?? '';
    if (reason === null && this.bringsBack(was)) this.setResult(CHECK_RESULT.healthy);
    else if (reason !== null && this.takesOut(was)) this.setResult(CHECK_RESULT.unhealthy);
    if (this.result !== was || (this.isOut && this.reason !== before)) this.tools.changed(this.wanted, !this.isOut, this.reason);
    if (!this.isSettled) this.cancel = this.tools.clock.after(this.delay(reason === null), () => this.run());
  }

  /** Whether the latest pass puts the target into rotation. A target that is new needs only one. */
  private bringsBack(was: CheckResult): boolean {
    return was !== CHECK_RESULT.unhealthy || this.passes >= this.wanted.passes;
  }

  /** Whether the latest failure takes out a target that was in rotation. */
  private takesOut(was: CheckResult): boolean {
    const entering = was === CHECK_RESULT.none && this.wanted.check.outAtFirst;
    return !entering && this.failures >= this.wanted.fails;
  }

  private get isOut(): boolean {
    return this.result === CHECK_RESULT.unhealthy || (this.result === CHECK_RESULT.none && this.wanted.check.outAtFirst);
  }

  private setResult(result: CheckResult): void {
    this.result = result;
    this.tools.targets.setCheckResult(this.slot, result, this.tools.clock.now());
  }

  /** Milliseconds until the next run. */
  private delay(passed: boolean): number {
    const { check, intervalMs } = this.wanted;
    if (!passed && this.result === CHECK_RESULT.none && check.outAtFirst) return this.backoff.next();
    return Math.round(intervalMs * (1 + JITTER * (2 * this.tools.random.fraction() - 1)));
  }
}

const isWantedMore = (a: WantedCheck, b: WantedCheck): boolean => (a.active === b.active ? a.intervalMs < b.intervalMs : a.active);
