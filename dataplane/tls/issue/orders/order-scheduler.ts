import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { ChallengeError, IssueError, type IssueFailureKind } from '../issue-error.ts';
import { type Renewable, type RenewalWindow, renewalTime } from '../renewal/renewal-time.ts';
import { retryDelay, withinLifetime } from './retry.ts';

/** Orders under way at once. */
const MAX_CONCURRENT_ORDERS = 10;
/** A timer of the system holds no more than 24 days, and a laptop sleeps: the time is looked at again at least this often (ms). */
const LONGEST_TIMER_MS = 6 * 3_600_000;

/** An authority may write as much as it likes. */
export const MAX_REASON_LENGTH = 2_048;

/** What went wrong with a name so far. */
export type Attempt = {
  /** In a row; an authority that is away has judged nothing, so that is none. */
  readonly failures: number;
  /** Milliseconds since 1970. */
  readonly nextTry: number;
  readonly lastError: string;
};

/** What is there of a name already. */
export type CurrentCertificate = Renewable & {
  /** Whether it is ours to renew; one that was brought by hand is not. */
  readonly automatic: boolean;
  /** What its authority advises; null where it does not, or has not been asked yet. */
  readonly window: RenewalWindow | null;
  /** How an order that renews it names it (RFC 9773 4.1); null where it has no such name. */
  readonly ariId: string | null;
};

export type OrderSchedulerTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** null: there is none, or none that can be used. */
  current(name: string): CurrentCertificate | null;
  /** Orders one, saves it, and has every worker show it. @throws IssueError. */
  issue(name: string, replaces: string | null): Promise<void>;
  /** Why an authority will hardly verify a name, looked up beside the order; null: nothing stands out. Never rejects. */
  hint(name: string): Promise<string | null>;
  /** Failures that an earlier process met: a restart is no reason to try again at once. */
  readonly attempts: {
    get(name: string): Attempt | null;
    set(name: string, attempt: Attempt | null): void;
  };
  /** The names that have no certificate and wait for another try: all of them, when there are others than before. */
  uncertified(names: readonly string[]): void;
};

/** How an order ended: with a certificate, or why with none. */
export type OrderResult = 'issued' | 'renewed' | IssueFailureKind;

type Entry = { cancel: () => void; ordering: boolean };

/** Sees to it that every name that is wanted has a certificate, each on its own time. The only one who orders. */
export class OrderScheduler {
  /** How many orders ended how. */
  readonly results = new Map<OrderResult, number>();
  private readonly tools: OrderSchedulerTools;
  private readonly entries = new Map<string, Entry>();
  /** In the order in which they came. */
  private readonly queue = new Set<string>();
  private readonly uncertified = new Set<string>();
  private running = 0;
  /** Failures in a row to reach the authority: while there are any, one order at a time finds out whether it is back. */
  private unreachable = 0;
  /** Ends the wait for an authority that is away; null while there is none. */
  private cancelBackoff: (() => void) | null = null;
  private paused = false;

  constructor(tools: OrderSchedulerTools) {
    this.tools = tools;
  }

  /** These names are to have certificates from now on, and no others. @returns whether that is anything new. */
  setNames(names: Iterable<string>): boolean {
    const wanted = new Set(names);
    let another = false;
    for (const [name, { cancel }] of this.entries) {
      if (wanted.has(name)) continue;
      another = true;
      cancel();
      this.entries.delete(name);
      this.tools.attempts.set(name, null);
      this.setUncertified(name, false);
    }
    for (const name of wanted) {
      if (this.entries.has(name)) continue;
      another = true;
      this.entries.set(name, { cancel: () => undefined, ordering: false });
      this.schedule(name);
    }
    return another;
  }

  /** Ends the wait after a failure: the next try is now. @returns false where no try is waited for. */
  retry(name: string): boolean {
    const attempt = this.tools.attempts.get(name);
    const entry = this.entries.get(name);
    if (entry === undefined || attempt === null || this.paused) return false;
    // One that is under way needs no push.
    if (entry.ordering) return true;
    this.tools.attempts.set(name, { ...attempt, nextTry: this.tools.clock.now() });
    this.cancelBackoff?.();
    this.cancelBackoff = null;
    this.schedule(name);
    return true;
  }

  /** What is held of a name has changed: by hand, on disk, or by advice of the authority. */
  certificateChanged(name: string): void {
    if (this.entries.has(name)) this.schedule(name);
  }

  /** When a name is looked at next (ms since 1970), and what went wrong last; null where it is none of ours. */
  planFor(name: string): { readonly renewAt: number | null; readonly attempt: Attempt | null } | null {
    if (!this.entries.has(name)) return null;
    const held = this.tools.current(name);
    return { renewAt: held?.automatic ? this.renewalOf(name, held) : null, attempt: this.tools.attempts.get(name) };
  }

  names(): Iterable<string> {
    return this.entries.keys();
  }

  /** Orders nothing more. What is under way is finished. */
  pause(): void {
    this.paused = true;
    for (const { cancel } of this.entries.values()) cancel();
    this.queue.clear();
  }

  resume(): void {
    this.paused = false;
    for (const name of this.entries.keys()) this.schedule(name);
  }

  private schedule(name: string): void {
    const entry = this.entries.get(name);
    if (entry === undefined || entry.ordering || this.paused) return;
    entry.cancel();
    const { clock, attempts } = this.tools;
    const held = this.tools.current(name);
    if (held !== null && !held.automatic) return;
    const due = Math.max(held === null ? 0 : this.renewalOf(name, held), attempts.get(name)?.nextTry ?? 0);
    const wait = due - clock.now();
    this.setUncertified(name, held === null && wait > 0);
    if (wait <= 0) return this.enqueue(name);
    entry.cancel = clock.after(Math.min(wait, LONGEST_TIMER_MS), () => this.schedule(name));
  }

  private renewalOf(name: string, held: CurrentCertificate): number {
    return renewalTime(name, held, held.window, this.tools.clock.now());
  }

  private enqueue(name: string): void {
    this.queue.add(name);
    this.startOrders();
  }

  private startOrders(): void {
    const most = this.unreachable > 0 ? 1 : MAX_CONCURRENT_ORDERS;
    if (this.cancelBackoff !== null) return;
    for (const name of this.queue) {
      if (this.running >= most || this.paused) return;
      this.queue.delete(name);
      const entry = this.entries.get(name);
      if (entry === undefined || entry.ordering) continue;
      entry.ordering = true;
      this.running++;
      void this.order(name).finally(() => {
        this.running--;
        entry.ordering = false;
        this.schedule(name);
        this.startOrders();
      });
    }
  }

  private async order(name: string): Promise<void> {
    const { clock, log, attempts } = this.tools;
    const held = this.tools.current(name);
    const startedAt = clock.monotonic();
    const hint = this.tools.hint(name);
    this.setUncertified(name, false);
    try {
      await this.tools.issue(name, held?.ariId ?? null);
      this.unreachable = 0;
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
    if (failure.kind === 'unreachable') {
      this.unreachable++;
      const delay = retryDelay('unreachable', this.unreachable, failure.retryAfterMs, random.fraction());
      this.cancelBackoff?.();
      this.cancelBackoff = clock.after(delay, () => {
        this.cancelBackoff = null;
        this.startOrders();
      });
    } else this.unreachable = 0;
    const away = failure.kind === 'unreachable';
    const failures = (attempts.get(name)?.failures ?? 0) + (away ? 0 : 1);
    const usual = retryDelay(failure.kind, away ? this.unreachable : failures, failure.retryAfterMs, random.fraction());
    const asked = failure.kind === 'limited' || failure.retryAfterMs !== null;
    const delay = asked ? usual : withinLifetime(usual, (this.tools.current(name)?.notAfter ?? 0) - clock.now());
    attempts.set(name, { failures, nextTry: clock.now() + delay, lastError: reason.slice(0, MAX_REASON_LENGTH) });
    log.warn({ name, reason, again_in_s: Math.round(delay / 1_000) }, 'no certificate');
  }

  private count(result: OrderResult): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }

  private setUncertified(name: string, uncertified: boolean): void {
    if (this.uncertified.has(name) === uncertified) return;
    if (uncertified) this.uncertified.add(name);
    else this.uncertified.delete(name);
    this.tools.uncertified([...this.uncertified]);
  }
}

/** Whether an authority looked for the name's address; where it looked into the DNS, addresses tell nothing. */
const needsReachableHost = (failure: IssueError): boolean =>
  failure.kind === 'validation' && !(failure instanceof ChallengeError && failure.type === 'dns-01');
