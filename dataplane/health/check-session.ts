import { type Backoff, createBackoff } from '../../shared/runtime/backoff.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Random } from '../../shared/runtime/random.ts';
import { type Targets, VERDICT_OF, type Verdict } from '../ledger/targets.ts';
import { tryConnection } from './connection.ts';
import { askForPage } from './page.ts';
import type { Turnstile } from './semaphore.ts';
import type { Watched } from './wanted-checks.ts';

/** Until a target has been well for the first time it is asked again after this long (ms), doubled up to the second figure. */
const FIRST_MS = 50;
const FIRST_MOST_MS = 1_000;
/** Failures in a row that take out a target that was in. */
const FAILURES_TO_LEAVE = 2;
/** Each interval is shortened or lengthened by up to this share, so that questions spread. */
const JITTER = 0.1;

export type WatchTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly targets: Targets;
  readonly turnstile: Turnstile;
  /** The target has come in, has gone out, or stays out for another reason. */
  readonly told: (watched: Watched, healthy: boolean, reason: string) => void;
};

/** What is known of one target by one question, and the asking. */
export class Watch {
  private readonly tools: WatchTools;
  /** As the routes that name it have it, by their domains. */
  private readonly wishes = new Map<string, readonly Watched[]>();
  private readonly slot: number;
  private readonly backoff: Backoff;
  private wish: Watched;
  private verdict: Verdict = VERDICT_OF.none;
  private failures = 0;
  private lastReason = '';
  /** Ends the question that is under way, or the time until the next one; null while it is not asked. */
  private leaveOff: (() => void) | null = null;

  constructor(first: Watched, tools: WatchTools) {
    this.tools = tools;
    this.wish = first;
    this.slot = tools.targets.claim(first.gate.key, tools.clock.now());
    this.backoff = createBackoff(tools.random, FIRST_MS, FIRST_MOST_MS);
    // A place that was freed keeps what was written there.
    tools.targets.judge(this.slot, VERDICT_OF.none);
  }

  /** What a route says of it now; nothing where it no longer names it. @returns whether any route does. */
  wished(domain: string, wishes: readonly Watched[]): boolean {
    if (wishes.length === 0) this.wishes.delete(domain);
    else this.wishes.set(domain, wishes);
    const all = [...this.wishes.values()].flat();
    const asking = all.filter((wish) => wish.asking);
    const [most] = (asking.length > 0 ? asking : all).sort((a, b) => a.intervalMs - b.intervalMs);
    if (most === undefined) return false;
    this.wish = most;
    if (!most.asking) this.stop();
    else if (this.leaveOff === null && !this.settled) this.ask();
    return true;
  }

  /** Whether it is asked, and has neither answered nor failed yet. */
  get unanswered(): boolean {
    return this.wish.asking && this.verdict === VERDICT_OF.none && this.lastReason === '';
  }

  /** What is known of it, for those who come later; null where it is not asked. */
  get standing(): { readonly watched: Watched; readonly healthy: boolean; readonly reason: string } | null {
    const { wish } = this;
    if (!wish.asking || this.unanswered) return null;
    return { watched: wish, healthy: !this.isOut, reason: this.isOut ? this.reason : '' };
  }

  /** Why it is out, in words; empty where nothing speaks against it. */
  get reason(): string {
    if (this.verdict === VERDICT_OF.well) return '';
    if (this.verdict === VERDICT_OF.ill || !this.wish.gate.shutAtFirst) return this.lastReason;
    return `not ${this.wish.gate.page === null ? 'probed' : 'checked'} yet${this.lastReason === '' ? '' : `: ${this.lastReason}`}`;
  }

  /** Its place in the ledger is still needed. */
  use(): void {
    this.tools.targets.used(this.slot, this.tools.clock.now());
  }

  /** No route names it any more: another one that does starts anew. */
  forget(): void {
    this.stop();
    this.tools.targets.judge(this.slot, VERDICT_OF.none);
  }

  /** It is asked no more until somebody wants it again; what is known holds. */
  stop(): void {
    this.leaveOff?.();
    this.leaveOff = null;
    this.failures = 0;
    this.backoff.reset();
  }

  /** A connection that stood is enough for good; a page is asked for again and again. */
  private get settled(): boolean {
    return this.wish.gate.page === null && this.verdict === VERDICT_OF.well;
  }

  private ask(): void {
    const { clock, turnstile } = this.tools;
    const { wish } = this;
    let stop: () => void = () => undefined;
    let leave: () => void = () => undefined;
    const cancel = turnstile.enter((left) => {
      leave = left;
      const done = (reason: string | null): void => {
        left();
        this.landed(reason);
      };
      const { page } = wish.gate;
      stop = page === null ? tryConnection(wish.address, clock, done) : askForPage(wish, page, clock, done);
    });
    this.leaveOff = () => {
      cancel();
      stop();
      leave();
    };
  }

  private landed(reason: string | null): void {
    const before = this.reason;
    this.leaveOff = null;
    const was = this.verdict;
    this.failures = reason === null ? 0 : this.failures + 1;
    this.lastReason = reason ?? '';
    if (reason === null) this.judge(VERDICT_OF.well);
    else if (this.leaves(was)) this.judge(VERDICT_OF.ill);
    if (this.verdict !== was || (this.isOut && this.reason !== before)) this.tools.told(this.wish, !this.isOut, this.reason);
    if (!this.settled) this.leaveOff = this.tools.clock.after(this.pause(reason === null), () => this.ask());
  }

  /** Whether a failure takes out a target that was in until now. */
  private leaves(was: Verdict): boolean {
    const entering = was === VERDICT_OF.none && this.wish.gate.shutAtFirst;
    return !entering && this.failures >= FAILURES_TO_LEAVE;
  }

  private get isOut(): boolean {
    return this.verdict === VERDICT_OF.ill || (this.verdict === VERDICT_OF.none && this.wish.gate.shutAtFirst);
  }

  private judge(verdict: Verdict): void {
    this.verdict = verdict;
    this.tools.targets.judge(this.slot, verdict);
  }

  /** Milliseconds until the next question. */
  private pause(well: boolean): number {
    const { gate, intervalMs } = this.wish;
    if (!well && this.verdict === VERDICT_OF.none && gate.shutAtFirst) return this.backoff.next();
    return Math.round(intervalMs * (1 + JITTER * (2 * this.tools.random.fraction() - 1)));
  }
}
