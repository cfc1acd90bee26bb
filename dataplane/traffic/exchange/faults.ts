import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import { FAULT_SCOPES, type FaultScope } from '../protocol.ts';
import type { Answerable } from './answerable.ts';
import { callOff, type Exchange } from './exchange.ts';

/** Faults that are logged with their stack in one minute; a client that can provoke one could fill the disk with more. */
const MOST_LOGGED = 20;
const MINUTE = 60_000;

/** Why an exchange ended; for the log and for people who ask why. */
export const FAULT_REASON = 'something failed in the proxy itself';

/**
 * Does one thing of `owner` that somebody outside of our code has called for: a socket, a timer, a library. Whatever is
 * thrown meanwhile is the owner's, and goes no further. No closure is made for it: `act` is a method.
 */
export function guard<O extends Answerable, A, B>(owner: O, act: (this: O, first: A, second: B) => void, first: A, second: B): void;
export function guard<O extends Answerable, A>(owner: O, act: (this: O, first: A) => void, first: A): void;
export function guard<O extends Answerable>(owner: O, act: (this: O) => void): void;
export function guard<O extends Answerable, A, B>(owner: O, act: (this: O, first?: A, second?: B) => void, first?: A, second?: B): void {
  try {
    act.call(owner, first, second);
  } catch (error) {
    owner.broke(error);
  }
}

/** A listener under the guard of `owner`, for what happens once in a connection's life or less. */
export const guarded =
  <A extends readonly unknown[]>(owner: Answerable, act: (...values: A) => void): ((...values: A) => void) =>
  (...values) => {
    try {
      act(...values);
    } catch (error) {
      owner.broke(error);
    }
  };

/** Serves an exchange in the course of something else: what is thrown is its own matter and not that of whoever came to it. */
export function onBehalf(x: Exchange, act: () => void): void {
  try {
    act();
  } catch (error) {
    x.client.broke(error);
  }
}

type FaultTools = { readonly clock: Clock; readonly log: Log };

/** What was thrown in one worker: logged with its stack, and counted by what it ended. */
export class Faults {
  private readonly tools: FaultTools;
  private counts = new Map<FaultScope, number>();
  private minute = Number.NEGATIVE_INFINITY;
  private logged = 0;
  private unlogged = 0;

  constructor(tools: FaultTools) {
    this.tools = tools;
  }

  /** Counts and logs. `about` are fields of the log line: what was being served. */
  note(scope: FaultScope, error: unknown, about: object = {}): void {
    this.counts.set(scope, (this.counts.get(scope) ?? 0) + 1);
    const now = this.tools.clock.monotonic();
    if (now - this.minute >= MINUTE) {
      this.minute = now;
      this.logged = 0;
    }
    if (++this.logged > MOST_LOGGED) {
      this.unlogged++;
      return;
    }
    const left = this.unlogged > 0 && { not_logged: this.unlogged };
    this.unlogged = 0;
    this.tools.log.error({ ended: scope, ...about, error: stackOf(error), ...left }, FAULT_REASON);
  }

  /**
   * Ends an exchange in whose service something was thrown: counted as 500 where its client has not had the head of an
   * answer, and its attempt called off. What the client is told is left to its carrier.
   */
  end(x: Exchange, error: unknown, answered: boolean, settle: (x: Exchange) => void): void {
    const letGo = callOff(x);
    this.note('exchange', error, { host: x.host, method: x.method });
    if (!answered) x.status = 500;
    x.failure = FAULT_REASON;
    this.step(() => settle(x));
    this.step(letGo);
  }

  /** One step of what has to be done whatever becomes of the others. */
  step(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.note('nothing', error);
    }
  }

  /** What was counted since the last call; null for nothing. */
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

/** Anything can be thrown, and not everything survives the way to the main thread. */
function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  } catch {
    return 'something without words';
  }
}
