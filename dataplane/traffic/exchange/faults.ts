import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { FAULT_SCOPES, type FaultScope } from '../protocol.ts';
import { detachAttempt, type Exchange } from './exchange.ts';
import type { FaultOwner } from './fault-owner.ts';

/** Faults logged with their stack per minute; without a limit, a client that can provoke one could fill the disk. */
const MAX_LOGGED = 20;
const MINUTE = 60_000;

/** Why an exchange ended, for the log and for `explain`. */
export const FAULT_REASON = 'something failed in the proxy itself';

/**
 * Runs a method of `owner` as a callback of a socket, a timer or a library. An exception ends the owner and nothing else. No closure is
 * created: `act` is a method.
 */
export function guard<O extends FaultOwner, A, B>(owner: O, act: (this: O, first: A, second: B) => void, first: A, second: B): void;
export function guard<O extends FaultOwner, A>(owner: O, act: (this: O, first: A) => void, first: A): void;
export function guard<O extends FaultOwner>(owner: O, act: (this: O) => void): void;
export function guard<O extends FaultOwner, A, B>(owner: O, act: (this: O, first?: A, second?: B) => void, first?: A, second?: B): void {
  try {
    act.call(owner, first, second);
  } catch (error) {
    owner.onFault(error);
  }
}

/** A listener guarded for `owner`, for events that happen at most once per connection. */
export const guarded =
  <A extends readonly unknown[]>(owner: FaultOwner, act: (...values: A) => void): ((...values: A) => void) =>
  (...values) => {
    try {
      act(...values);
    } catch (error) {
      owner.onFault(error);
    }
  };

/** Serves an exchange from within other work: an exception ends the exchange and does not reach the caller. */
export function guardExchange(x: Exchange, act: (x: Exchange) => void): void {
  try {
    act(x);
  } catch (error) {
    x.client.onFault(error);
  }
}

type FaultTools = { readonly clock: Clock; readonly log: Log };

/** The exceptions thrown in one worker, logged with their stack and counted by what they ended. */
export class Faults {
  private readonly tools: FaultTools;
  private counts = new Map<FaultScope, number>();
  private minute = Number.NEGATIVE_INFINITY;
  private logged = 0;
  private unlogged = 0;

  constructor(tools: FaultTools) {
    this.tools = tools;
  }

  /** Counts and logs. `about` are fields of the log line that identify what was being served. */
  note(scope: FaultScope, error: unknown, about: object = {}): void {
    this.counts.set(scope, (this.counts.get(scope) ?? 0) + 1);
    const now = this.tools.clock.monotonic();
    if (now - this.minute >= MINUTE) {
      this.minute = now;
      this.logged = 0;
    }
    if (++this.logged > MAX_LOGGED) {
      this.unlogged++;
      return;
    }
    const left = this.unlogged > 0 && { not_logged: this.unlogged };
    this.unlogged = 0;
    this.tools.log.error({ ended: scope, ...about, error: stackOf(error), ...left }, FAULT_REASON);
  }

  /**
   * Ends an exchange during which something was thrown: counts it as 500 if its client has not received the head of an
   * answer, and cancels its attempt. The client's side of the exchange decides what to send.
   */
  end(x: Exchange, error: unknown, answered: boolean, settle: (x: Exchange) => void): void {
    const cancelDetached = detachAttempt(x);
    this.note('exchange', error, { host: x.host, method: x.method });
    if (!answered) x.status = 500;
    x.failure = FAULT_REASON;
    this.step(() => settle(x));
    this.step(cancelDetached);
  }

  /** One cleanup step, done whether or not the others succeed. `value` is passed to it: a closure would be allocated each time. */
  step(act: () => void): void;
  step<T>(act: (value: T) => void, value: T): void;
  step<T>(act: (value?: T) => void, value?: T): void {
    try {
      act(value);
    } catch (error) {
      this.note('nothing', error);
    }
  }

  /** The counts since the last call; null if there are none. */
  drainCounts(): readonly (readonly [FaultScope, number])[] | null {
    if (this.counts.size === 0) return null;
    const counts = FAULT_SCOPES.flatMap((scope) => {
      const count = this.counts.get(scope);
      return count === undefined ? [] : [[scope, count] as const];
    });
    this.counts = new Map();
    return counts;
  }
}

/** Anything can be thrown, and not everything can be cloned to the main thread. */
function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } catch {
    return 'an exception that cannot be described';
  }
}
