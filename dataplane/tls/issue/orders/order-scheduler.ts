import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { CheckError, IssueError, type IssueFailureKind } from '../issue-error.ts';
import { type Renewable, renewalTime, type Window } from '../renewal/renewal-time.ts';
import { retryDelay, withinLife } from './retry.ts';

/** Orders under way at once. */
const MOST_ORDERS = 10;
/** A timer of the system holds no more than 24 days, and a laptop sleeps: the time is looked at again at least this often (ms). */
const LONGEST_TIMER_MS = 6 * 3_600_000;

/** An authority may write as much as it likes. */
export const LONGEST_REASON = 2_048;

/** What went wrong with a name so far. */
export type Attempt = {
  /** In a row; an authority that is away has judged nothing, so that is none. */
  readonly failures: number;
  /** Milliseconds since 1970. */
  readonly nextTry: number;
  readonly lastError: string;
};

/** What is there of a name already. */
export type Held = Renewable & {
  /** Whether it is ours to renew; one that was brought by hand is not. */
  readonly automatic: boolean;
  /** What its authority advises; null where it does not, or has not been asked yet. */
  readonly window: Window | null;
  /** How an order that renews it names it (RFC 9773 4.1); null where it has no such name. */
  readonly ariId: string | null;
};

export type IssuerTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** null: there is none, or none that can be used. */
  held(name: string): Held | null;
  /** Orders one, saves it, and has every worker show it. @throws IssueError. */
  order(name: string, replaces: string | null): Promise<void>;
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

type Wanted = { cancel: () => void; ordering: boolean };

/** Sees to it that every name that is wanted has a certificate, each on its own time. The only one who orders. */
export class Issuer {
  /** How many orders ended how. */
  readonly results = new Map<OrderResult, number>();
  private readonly tools: IssuerTools;
  private readonly wanted = new Map<string, Wanted>();
  /** In the order in which they came. */
  private readonly queue = new Set<string>();
  private readonly uncertified = new Set<string>();
  private orders = 0;
  /** Failures in a row to reach the authority: while there are any, one order at a time finds out whether it is back. */
  private unreachable = 0;
  /** Ends the wait for an authority that is away; null while there is none. */
  private endWait: (() => void) | null = null;
  private paused = false;

  constructor(tools: IssuerTools) {
    this.tools = tools;
  }

  /** These names are to have certificates from now on, and no others. @returns whether that is anything new. */
  want(names: Iterable<string>): boolean {
    const wanted = new Set(names);
    let another = false;
    for (const [name, { cancel }] of this.wanted) {
      if (wanted.has(name)) continue;
      another = true;
      cancel();
      this.wanted.delete(name);
      this.tools.attempts.set(name, null);
      this.mark(name, false);
    }
    for (const name of wanted) {
      if (this.wanted.has(name)) continue;
      another = true;
      this.wanted.set(name, { cancel: () => undefined, ordering: false });
      this.plan(name);
    }
    return another;
  }

  /** Ends the wait after a failure: the next try is now. @returns false where no try is waited for. */
  retry(name: string): boolean {
    const attempt = this.tools.attempts.get(name);
    const entry = this.wanted.get(name);
    if (entry === undefined || attempt === null || this.paused) return false;
    // One that is under way needs no push.
    if (entry.ordering) return true;
    this.tools.attempts.set(name, { ...attempt, nextTry: this.tools.clock.now() });
    this.endWait?.();
    this.endWait = null;
    this.plan(name);
    return true;
  }

  /** What is held of a name has changed: by hand, on disk, or by advice of the authority. */
  changed(name: string): void {
    if (this.wanted.has(name)) this.plan(name);
  }

  /** When a name is looked at next (ms since 1970), and what went wrong last; null where it is none of ours. */
  plans(name: string): { readonly renewAt: number | null; readonly attempt: Attempt | null } | null {
    if (!this.wanted.has(name)) return null;
    const held = this.tools.held(name);
    return { renewAt: held?.automatic ? this.renewalOf(name, held) : null, attempt: this.tools.attempts.get(name) };
  }

  names(): Iterable<string> {
    return this.wanted.keys();
  }

  /** Orders nothing more. What is under way is finished. */
  pause(): void {
    this.paused = true;
    for (const { cancel } of this.wanted.values()) cancel();
    this.queue.clear();
  }

  resume(): void {
    this.paused = false;
    for (const name of this.wanted.keys()) this.plan(name);
  }

  private plan(name: string): void {
    const entry = this.wanted.get(name);
    if (entry === undefined || entry.ordering || this.paused) return;
    entry.cancel();
    const { clock, attempts } = this.tools;
    const held = this.tools.held(name);
    if (held !== null && !held.automatic) return;
    const due = Math.max(held === null ? 0 : this.renewalOf(name, held), attempts.get(name)?.nextTry ?? 0);
    const wait = due - clock.now();
    this.mark(name, held === null && wait > 0);
    if (wait <= 0) return this.enqueue(name);
    entry.cancel = clock.after(Math.min(wait, LONGEST_TIMER_MS), () => this.plan(name));
  }

  private renewalOf(name: string, held: Held): number {
    return renewalTime(name, held, held.window, this.tools.clock.now());
  }

  private enqueue(name: string): void {
    this.queue.add(name);
    this.pump();
  }

  private pump(): void {
    const most = this.unreachable > 0 ? 1 : MOST_ORDERS;
    if (this.endWait !== null) return;
    for (const name of this.queue) {
      if (this.orders >= most || this.paused) return;
      this.queue.delete(name);
      const entry = this.wanted.get(name);
      if (entry === undefined || entry.ordering) continue;
      entry.ordering = true;
      this.orders++;
      void this.order(name).finally(() => {
        this.orders--;
        entry.ordering = false;
        this.plan(name);
        this.pump();
      });
    }
  }

  private async order(name: string): Promise<void> {
    const { clock, log, attempts } = this.tools;
    const held = this.tools.held(name);
    const startedAt = clock.monotonic();
    const hint = this.tools.hint(name);
    this.mark(name, false);
    try {
      await this.tools.order(name, held?.ariId ?? null);
      this.unreachable = 0;
      attempts.set(name, null);
      const result = held === null ? 'issued' : 'renewed';
      this.count(result);
      log.info({ name, ms: Math.round(clock.monotonic() - startedAt) }, `certificate ${result}`);
    } catch (error) {
      const failure = error instanceof IssueError ? error : new IssueError('refused', `${name}: ${String(error)}`);
      const reason = isOverNetwork(failure) ? await hint : null;
      this.count(failure.kind);
      if (this.wanted.has(name)) this.failed(name, failure, reason === null ? failure.message : `${failure.message}; ${reason}`);
    }
  }

  private failed(name: string, failure: IssueError, reason: string): void {
    const { clock, random, log, attempts } = this.tools;
    if (failure.kind === 'unreachable') {
      this.unreachable++;
      const delay = retryDelay('unreachable', this.unreachable, failure.retryAfterMs, random.fraction());
      this.endWait?.();
      this.endWait = clock.after(delay, () => {
        this.endWait = null;
        this.pump();
      });
    } else this.unreachable = 0;
    const away = failure.kind === 'unreachable';
    const failures = (attempts.get(name)?.failures ?? 0) + (away ? 0 : 1);
    const usual = retryDelay(failure.kind, away ? this.unreachable : failures, failure.retryAfterMs, random.fraction());
    const asked = failure.kind === 'limited' || failure.retryAfterMs !== null;
    const delay = asked ? usual : withinLife(usual, (this.tools.held(name)?.notAfter ?? 0) - clock.now());
    attempts.set(name, { failures, nextTry: clock.now() + delay, lastError: reason.slice(0, LONGEST_REASON) });
    log.warn({ name, reason, again_in_s: Math.round(delay / 1_000) }, 'no certificate');
  }

  private count(result: OrderResult): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1);
  }

  private mark(name: string, uncertified: boolean): void {
    if (this.uncertified.has(name) === uncertified) return;
    if (uncertified) this.uncertified.add(name);
    else this.uncertified.delete(name);
    this.tools.uncertified([...this.uncertified]);
  }
}

/** Whether an authority looked for the name's address; where it looked into the DNS, addresses tell nothing. */
const isOverNetwork = (failure: IssueError): boolean =>
  failure.kind === 'validation' && !(failure instanceof CheckError && failure.type === 'dns-01');
