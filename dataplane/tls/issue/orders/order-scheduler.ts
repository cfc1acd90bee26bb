import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { wildcardOf } from '../../../../shared/values/host.ts';
import { ChallengeError, CrashedError, IssueError, type IssueFailureKind, MAX_REASON_LENGTH, UnissuedError } from '../issue-error.ts';
import { type Renewable, type RenewalWindow, renewalTime } from '../renewal/renewal-time.ts';
import type { OrderPlan } from './order-plan.ts';
import { LONGEST_DELAY_MS, retryDelay, withinLifetime } from './retry.ts';

/** Concurrent orders. */
const MAX_CONCURRENT_ORDERS = 10;
/**
 * After this many orders in a row that reached a rate limit, the limit is probably not one of their names but one that all share: then one
 * order at a time, after a pause of at most this (ms), looks whether there is room again.
 */
const MANY_LIMITED = 3;
const LONGEST_PAUSE_MS = 10_000;
/** An authority may round the rest of the time to 0. */
const SHORTEST_PAUSE_MS = 1_000;
/** Timers are limited to 24 days and stop while a laptop sleeps, so the clock is checked at least this often (ms). */
const LONGEST_TIMER_MS = 6 * 3_600_000;

/** The failed attempts for a name. */
export type OrderAttempt = {
  /** Consecutive failures. An unreachable authority does not count. */
  readonly failures: number;
  /** Milliseconds since 1970. */
  readonly nextTry: number;
  /** How long that was after the failure (ms); absent in files of earlier versions. */
  readonly delay?: number | undefined;
  readonly lastError: string;
};

/** The current certificate of a name. */
export type CurrentCertificate = Renewable & {
  /** Whether we renew it; manually provided ones are not renewed. */
  readonly automatic: boolean;
  /** The ARI renewal window; null if unknown. */
  readonly window: RenewalWindow | null;
  /** Its ARI CertID (RFC 9773 4.1) for the renewal order; null without one. */
  readonly ariId: string | null;
};

export type OrderSchedulerTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** null: there is no usable one, as after the expiry of one that was provided for a wildcard over the name. */
  current(name: string): CurrentCertificate | null;
  /** Orders one, stores it and waits until every worker serves it. @throws IssueError. */
  issue(name: string, replaces: string | null): Promise<void>;
  /** Why validation will probably fail, looked up while the order runs; null: nothing found. Never rejects. */
  hint(name: string): Promise<string | null>;
  /** Failed attempts, kept over restarts so that backoffs are observed. */
  readonly attempts: {
    get(name: string): OrderAttempt | null;
    set(name: string, attempt: OrderAttempt | null): void;
  };
  /** Receives the set of all names without a certificate whose order is backing off, whenever it changes. It is not a copy. */
  uncertified(names: ReadonlySet<string>): void;
};

/** The result of an order: a certificate, or the kind of failure. */
export type OrderResult = 'issued' | 'renewed' | IssueFailureKind;

type Entry = { cancel: () => void };

/** Decides when each name's certificate is ordered, renewed or retried. All orders start here. */
export class OrderScheduler {
  /** Orders counted by result. */
  readonly results = new Map<OrderResult, number>();
  private readonly tools: OrderSchedulerTools;
  private readonly entries = new Map<string, Entry>();
  /** The same names by the wildcard over them, whose certificate serves those that have none of their own. */
  private readonly covered = new Map<string, Set<string>>();
  /** First in, first out. */
  private readonly queue = new Set<string>();
  /** Names in the queue whose order was requested. */
  private readonly requested = new Set<string>();
  private readonly uncertified = new Set<string>();
  /** Names whose order is in progress, perhaps removed since, or even added again. */
  private readonly ordering = new Set<string>();
  /** Consecutive failures to reach the authority. While there are any, only one order at a time probes whether it is back. */
  private unreachable = 0;
  /** Consecutive orders that reached a rate limit, and what the authority said last. */
  private limited = 0;
  private limitReason = '';
  /** Cancels the backoff for an unreachable authority or a shared limit; null when there is none. */
  private cancelBackoff: (() => void) | null = null;
  private paused = false;

  constructor(tools: OrderSchedulerTools) {
    this.tools = tools;
  }

  /** Replaces the set of names that should have certificates. @returns whether it changed. */
  setNames(names: Iterable<string>): boolean {
    const wanted = new Set(names);
    let changed = false;
    for (const [name, { cancel }] of this.entries) {
      if (wanted.has(name)) continue;
      changed = true;
      cancel();
      this.entries.delete(name);
      this.uncover(name);
      this.tools.attempts.set(name, null);
      this.setUncertified(name, false);
    }
    for (const name of wanted) {
      if (this.entries.has(name)) continue;
      changed = true;
      this.entries.set(name, { cancel: () => undefined });
      this.cover(name);
      this.schedule(name);
    }
    return changed;
  }

  /** Places the next order for a name now, if it waits after a failure or behind others. @returns false when none is pending. */
  retry(name: string): boolean {
    const attempt = this.tools.attempts.get(name);
    const entry = this.entries.get(name);
    if (entry === undefined || this.paused || (attempt === null && !this.queue.has(name))) return false;
    // An order in progress needs no retry.
    if (this.ordering.has(name)) return true;
    if (attempt !== null) this.tools.attempts.set(name, { ...attempt, nextTry: this.tools.clock.now(), delay: 0 });
    this.cancelBackoff?.();
    this.cancelBackoff = null;
    this.schedule(name, true);
    return true;
  }

  /** The current certificate of a name, or its renewal window, has changed; with a wildcard's, perhaps that of all names below it. */
  certificateChanged(name: string): void {
    for (const each of [name, ...(this.covered.get(name) ?? [])]) this.schedule(each);
  }

  /** null if we do not order for this name. */
  planFor(name: string): OrderPlan | null {
    if (!this.entries.has(name)) return null;
    const held = this.tools.current(name);
    const attempt = this.tools.attempts.get(name);
    return {
      renewAt: held?.automatic ? this.renewalOf(name, held) : null,
      attempt,
      waitsFor: attempt === null && this.isLimitShared && this.queue.has(name) ? this.limitReason : null,
    };
  }

  names(): Iterable<string> {
    return this.entries.keys();
  }

  /** Names whose last order failed. */
  *failing(): Generator<string> {
    for (const name of this.entries.keys()) if (this.tools.attempts.get(name) !== null) yield name;
  }

  /** Stops placing orders. Orders in progress are completed. */
  pause(): void {
    this.paused = true;
    for (const { cancel } of this.entries.values()) cancel();
    this.queue.clear();
    this.requested.clear();
  }

  resume(): void {
    this.paused = false;
    for (const name of this.entries.keys()) this.schedule(name);
  }

  private cover(name: string): void {
    const wildcard = wildcardOf(name);
    if (wildcard === undefined || wildcard === name) return;
    const names = this.covered.get(wildcard);
    if (names === undefined) this.covered.set(wildcard, new Set([name]));
    else names.add(name);
  }

  private uncover(name: string): void {
    const wildcard = wildcardOf(name) ?? '';
    const names = this.covered.get(wildcard);
    names?.delete(name);
    if (names?.size === 0) this.covered.delete(wildcard);
  }

  /** `next`: if it is due, it is ordered before the others. */
  private schedule(name: string, next = false): void {
    const entry = this.entries.get(name);
    if (entry === undefined || this.ordering.has(name) || this.paused) return;
    entry.cancel();
    const { clock } = this.tools;
    const held = this.tools.current(name);
    if (held !== null) this.forgetOvercome(name, held);
    if (held !== null && !held.automatic) {
      const left = held.notAfter - clock.now();
      if (left <= 0) return;
      entry.cancel = clock.after(Math.min(left, LONGEST_TIMER_MS), () => this.schedule(name));
      // A wildcard's may be back before the orders of the names below it have begun.
      this.queue.delete(name);
      this.requested.delete(name);
      this.setUncertified(name, false);
      return;
    }
    const due = Math.max(held === null ? 0 : this.renewalOf(name, held), this.nextTryOf(name));
    const wait = due - clock.now();
    // After a failure, or behind others, it may be in the queue for hours: no handshake waits before its next order is placed.
    this.setUncertified(name, held === null && (wait > 0 || this.tools.attempts.get(name) !== null || this.isLimitShared));
    if (wait <= 0) return this.enqueue(name, next);
    entry.cancel = clock.after(Math.min(wait, LONGEST_TIMER_MS), () => this.schedule(name));
  }

  /** Forgets a failure if the name has got a certificate since: someone provided one, or another instance ordered it. */
  private forgetOvercome(name: string, { automatic, savedAt }: CurrentCertificate): void {
    const attempt = this.tools.attempts.get(name);
    if (attempt === null) return;
    const failedAt = attempt.nextTry - (attempt.delay ?? 0);
    // One that was stored in the future, before the time of day was set back, would overcome every failure.
    if (automatic && (savedAt <= failedAt || savedAt > this.tools.clock.now())) return;
    this.tools.attempts.set(name, null);
    this.setUncertified(name, false);
  }

  /** If the time of day was set back, perhaps by years, the delay begins again. */
  private nextTryOf(name: string): number {
    const { clock, attempts } = this.tools;
    const attempt = attempts.get(name);
    if (attempt === null) return 0;
    const latest = clock.now() + (attempt.delay ?? LONGEST_DELAY_MS);
    if (attempt.nextTry <= latest) return attempt.nextTry;
    attempts.set(name, { ...attempt, nextTry: latest });
    return latest;
  }

  private renewalOf(name: string, held: CurrentCertificate): number {
    return renewalTime(name, held, held.window, this.tools.clock.now());
  }

  private enqueue(name: string, next: boolean): void {
    const others = next ? [...this.queue] : [];
    if (next) {
      this.queue.clear();
      this.requested.add(name);
    }
    for (const each of [name, ...others]) this.queue.add(each);
    this.startOrders();
  }

  private startOrders(): void {
    const most = this.unreachable > 0 || this.isLimitShared ? 1 : MAX_CONCURRENT_ORDERS;
    if (this.cancelBackoff !== null || this.ordering.size >= most) return;
    for (const name of this.isLimitShared ? this.renewalsFirst() : this.queue) {
      if (this.ordering.size >= most || this.paused) return;
      this.queue.delete(name);
      this.requested.delete(name);
      if (!this.entries.has(name) || this.ordering.has(name)) continue;
      this.ordering.add(name);
      void this.order(name).finally(() => {
        this.ordering.delete(name);
        this.schedule(name);
        this.startOrders();
      });
    }
  }

  private get isLimitShared(): boolean {
    return this.limited >= MANY_LIMITED;
  }

  /** Authorities exempt renewals from most limits, and those can't wait as long as new names. What was requested comes before them. */
  private renewalsFirst(): Iterable<string> {
    const queue = [...this.queue];
    const requested = queue.filter((name) => this.requested.has(name));
    const renewals = queue.filter((name) => this.tools.current(name) !== null);
    return new Set([...requested, ...renewals, ...queue]);
  }

  private async order(name: string): Promise<void> {
    const { clock, log, attempts } = this.tools;
    const held = this.tools.current(name);
    const startedAt = clock.monotonic();
    const hint = this.tools.hint(name);
    // While a limit is shared, most orders fail at once, and the names without a certificate may be thousands.
    if (!this.isLimitShared) this.setUncertified(name, false);
    try {
      await this.tools.issue(name, held?.ariId ?? null);
      this.unreachable = 0;
      this.limited = 0;
      attempts.set(name, null);
      const result = held === null ? 'issued' : 'renewed';
      this.count(result);
      log.info({ name, ms: Math.round(clock.monotonic() - startedAt) }, `certificate ${result}`);
    } catch (error) {
      const failure = error instanceof IssueError ? error : new IssueError('refused', `${name}: ${String(error)}`);
      const reason = needsReachableHost(failure) ? await hint : null;
      this.count(failure.kind);
      if (this.entries.has(name)) this.failed(name, failure, reason === null ? failure.message : `${failure.message}; ${reason}`);
    }
  }

  private failed(name: string, failure: IssueError, reason: string): void {
    const { clock, random, log, attempts } = this.tools;
    this.noteFailure(failure);
    const away = failure.kind === 'unreachable';
    const failures = (attempts.get(name)?.failures ?? 0) + (away ? 0 : 1);
    const usual = retryDelay(failure.kind, away ? this.unreachable : failures, failure.retryAfterMs, random.fraction());
    const waitRequested = failure.kind === 'limited' || failure.retryAfterMs !== null;
    const delay = waitRequested ? usual : withinLifetime(usual, (this.tools.current(name)?.notAfter ?? 0) - clock.now());
    attempts.set(name, { failures, nextTry: clock.now() + delay, delay, lastError: reason.slice(0, MAX_REASON_LENGTH) });
    log.warn({ name, reason, again_in_s: Math.round(delay / 1_000) }, 'no certificate');
  }

  /** What a failure says about the orders of other names. */
  private noteFailure({ kind, retryAfterMs, message }: IssueError): void {
    this.unreachable = kind === 'unreachable' ? this.unreachable + 1 : 0;
    if (kind === 'limited') this.limited++;
    else if (kind !== 'unreachable' && kind !== 'local') this.limited = 0;
    if (kind === 'unreachable') this.backOff(retryDelay(kind, this.unreachable, retryAfterMs, this.tools.random.fraction()));
    else if (kind === 'limited' && this.isLimitShared) {
      this.limitReason = message;
      if (this.limited === MANY_LIMITED)
        for (const name of this.queue) if (!this.uncertified.has(name)) this.setUncertified(name, this.tools.current(name) === null);
      this.backOff(Math.max(SHORTEST_PAUSE_MS, Math.min(retryAfterMs ?? LONGEST_PAUSE_MS, LONGEST_PAUSE_MS)));
    }
  }

  private backOff(ms: number): void {
    this.cancelBackoff?.();
    this.cancelBackoff = this.tools.clock.after(ms, () => {
      this.cancelBackoff = null;
      this.startOrders();
    });
  }

  private count(result: OrderResult): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }

  private setUncertified(name: string, uncertified: boolean): void {
    if (this.uncertified.has(name) === uncertified) return;
    if (uncertified) this.uncertified.add(name);
    else this.uncertified.delete(name);
    this.tools.uncertified(this.uncertified);
  }
}

/** Whether the challenge needed the host to be reachable, so that a preflight hint helps; DNS-01 does not. */
const needsReachableHost = (failure: IssueError): boolean =>
  failure.kind === 'validation' &&
  !(failure instanceof UnissuedError || failure instanceof CrashedError) &&
  !(failure instanceof ChallengeError && failure.type === 'dns-01');
