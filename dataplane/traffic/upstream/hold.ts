import type { Clock } from '../../../shared/runtime/clock.ts';
import { type Exchange, forgetTried, type Upstream } from '../exchange/exchange.ts';
import { FAILURE, type Failure, noTargetAvailable } from '../exchange/failure.ts';
import { type Faults, guardExchange } from '../exchange/faults.ts';
import { giveUpLater, retryLater, serveLater } from '../exchange/later.ts';
import { WaitingAttempt } from '../exchange/waiting-attempt.ts';
import type { Pool } from './pool/pool.ts';
import type { Endpoint } from './target/endpoint.ts';

/** How often a request may be accepted and dropped by targets that were not shutting down. */
const MAX_DROPS = 3;
/**
 * A dropped request is retried no sooner than this (ms): a target that is shutting down accepts connections until its listener is closed.
 */
const AFTER_DROP_MS = 250;

/**
 * The first health check of a target takes no longer than this (ms); if all targets of a pool are new, requests wait at least this long.
 */
const FIRST_VERDICT_MS = 2_000;

/** The maximum number of requests of one worker that wait for a target. Beyond that, those of the pool that has most give way. */
const MAX_HELD = 4_096;

export type HoldTools = {
  readonly clock: Clock;
  readonly faults: Faults;
  /** The maximum number of requests that wait; MAX_HELD if absent. */
  readonly maxHeld?: number;
};

/** The pool that a table has for an exchange; null if it has none, and undefined if the exchange stays with its own in any table. */
export type PoolOf = (x: Exchange) => Pool | null | undefined;

/** Where a request continues after it has waited. */
type Destination = Upstream & { readonly pool: Pool };

/** Requests that wait for the same pool. */
type Group = { readonly waiting: Set<HeldRequest>; probe: HeldRequest | null };

/**
 * Requests that found no target and wait for one because their route says so (`hold_secs`). Nothing of them has been written, or it may be
 * written again. Periodically one request per pool is tried: once it has a connection, the others follow.
 */
export class Hold {
  private readonly tools: HoldTools;
  private readonly groups = new Map<Pool, Group>();
  /** Requests that have waited before continue with their remaining time, even if another exchange is sent for them now. */
  private readonly known = new WeakMap<Exchange, HeldRequest>();
  /** How often each request has been served again by a newer table. */
  private readonly followed = new WeakMap<Exchange, number>();
  private count = 0;
  /** The pool that the newest table has for an exchange: its own, until there is a newer one. */
  private newest: PoolOf = () => undefined;

  constructor(tools: HoldTools) {
    this.tools = tools;
  }

  /**
   * Serves an exchange that would have ended with `failure` once more if the newest table has another pool for it, or none: the table may
   * have been replaced while a target took its time. A target that did not accept the request's connection may be tried again; one that
   * dropped the request may not. @returns false if there is no such target, or if that has happened too often.
   */
  serveByNewestTable(x: Exchange, pool: Pool, failure: Failure): boolean {
    const newest = this.newest(x);
    if (newest === undefined || newest === pool) return false;
    const mayTryAgain = noTargetAvailable(failure);
    if (newest === null ? !mayTryAgain : newest.peek(this.tools.clock.now()) === null) return false;
    if (newest !== null && !mayTryAgain && !newest.hasUntried(x)) return false;
    const request = x.requestPath.routedAs(x) ?? x;
    const times = this.followed.get(request) ?? 0;
    if (times === MAX_DROPS) return false;
    this.followed.set(request, times + 1);
    x.attempt = null;
    if (mayTryAgain) forgetTried(x);
    x.lastFailure = null;
    serveLater(x);
    return true;
  }

  /**
   * Holds an exchange that would have ended with `failure`; `maxMs` is how long its block lets it wait. @returns false if it has
   * waited long enough.
   */
  enter(x: Exchange, upstream: Destination, maxMs: number, failure: Failure): boolean {
    const { pool } = upstream;
    const holdMs = Math.max(maxMs, pool.undecided ? FIRST_VERDICT_MS : 0);
    const request = x.requestPath.routedAs(x) ?? x;
    const before = this.known.get(request);
    if (holdMs === 0 && before === undefined) return false;
    const now = this.tools.clock.monotonic();
    if (before !== undefined) this.probeEnded(before);
    const held = before?.x === x ? before : new HeldRequest(x, before?.until ?? now + holdMs, this.leave, before?.drops);
    this.known.set(request, held);
    const dropped = !noTargetAvailable(failure);
    const newest = this.newest(x);
    // Its route is gone, or has no targets any more: there is nothing to wait for.
    if (newest === null || now >= held.until || (dropped && held.drops === MAX_DROPS)) return false;
    const isFull = this.count >= (this.tools.maxHeld ?? MAX_HELD);
    const leaving = isFull ? this.surplus(newest ?? pool) : null;
    if (isFull && leaving === null) {
      giveUpLater(x, FAILURE.holdFull);
      return true;
    }
    // The request itself may have crashed the target, so it must not go from one to the next for as long as it may wait.
    if (dropped) held.drops++;
    held.notBefore = dropped ? now + AFTER_DROP_MS : now;
    held.failure = failure;
    held.moved = newest !== undefined && newest !== pool;
    x.attempt = held;
    x.trace?.spans?.held();
    this.join(held, newest ?? pool);
    // Last, because its client may send its next request within this call.
    if (leaving !== null) guardExchange(leaving.x, () => this.end(leaving, FAILURE.holdFull));
    return true;
  }

  /** The oldest request of the pool that has most, if that has more than this one will: a site that is down must not keep others from waiting. */
  private surplus(pool: Pool): HeldRequest | null {
    const own = (this.groups.get(pool)?.waiting.size ?? 0) + 1;
    let most: Group | null = null;
    for (const group of this.groups.values()) if (group.waiting.size > (most?.waiting.size ?? own)) most = group;
    const [oldest = null] = most?.waiting ?? [];
    return oldest;
  }

  /** Every 250 ms: ends requests that have waited long enough and tries one request of each pool. */
  tick(): void {
    if (this.groups.size === 0) return;
    const now = this.tools.clock.monotonic();
    for (const [pool, group] of [...this.groups]) this.tools.faults.step(() => this.check(pool, group, now));
  }

  private check(pool: Pool, group: Group, now: number): void {
    for (const held of [...group.waiting]) if (now >= held.until) this.end(held);
    // The client of the probing request may have left, or it was answered by something other than a target.
    if (group.probe !== null && group.probe.x.status !== 0) group.probe = null;
    if (group.waiting.size > 0) this.probe(pool, group);
    else if (group.probe === null) this.groups.delete(pool);
  }

  /**
   * The table has been swapped: a request whose route has a new pool waits for that one, and tries it at once. One that no longer has a
   * pool is served by the new table at once, never by the targets of the old one.
   */
  tableChanged(poolOf: PoolOf): void {
    this.newest = poolOf;
    for (const [pool, group] of [...this.groups]) for (const held of [...group.waiting]) guardExchange(held.x, () => this.move(held, pool));
    this.tick();
  }

  private move(held: HeldRequest, from: Pool): void {
    const newest = this.newest(held.x);
    if (newest === undefined || newest === from) return;
    held.moved = true;
    if (newest === null) return this.resume(held);
    this.leave(held);
    this.join(held, newest);
  }

  /** A connection to this target is established. */
  connected(endpoint: Endpoint): void {
    if (this.groups.size === 0) return;
    for (const [pool, group] of [...this.groups]) if (pool.endpoints.includes(endpoint)) this.open(group);
  }

  private join(held: HeldRequest, pool: Pool): void {
    let group = this.groups.get(pool);
    if (group === undefined) {
      group = { waiting: new Set(), probe: null };
      this.groups.set(pool, group);
    }
    held.group = group;
    group.waiting.add(held);
    this.count++;
  }

  private probe(pool: Pool, group: Group): void {
    if (group.probe !== null) return;
    const endpoint = pool.peek(this.tools.clock.now());
    if (endpoint === null) return;
    if (endpoint.warm) return this.open(group);
    const now = this.tools.clock.monotonic();
    for (const held of group.waiting) {
      if (held.notBefore > now) continue;
      group.probe = held;
      return this.resume(held);
    }
  }

  private open(group: Group): void {
    group.probe = null;
    const now = this.tools.clock.monotonic();
    for (const held of [...group.waiting]) if (held.notBefore <= now) this.resume(held);
  }

  private resume(held: HeldRequest): void {
    const { x } = held;
    this.leave(held);
    x.attempt = null;
    forgetTried(x);
    x.lastFailure = null;
    if (held.moved) serveLater(x);
    else retryLater(x);
  }

  private end(held: HeldRequest, failure = held.failure): void {
    this.leave(held);
    held.x.attempt = null;
    giveUpLater(held.x, failure);
  }

  private probeEnded(held: HeldRequest): void {
    if (held.group?.probe === held) held.group.probe = null;
  }

  private readonly leave = (held: HeldRequest): void => {
    if (held.group?.waiting.delete(held)) this.count--;
  };
}

/** A request that waits for a target. */
class HeldRequest extends WaitingAttempt {
  readonly x: Exchange;
  /** Milliseconds on the monotonic clock. */
  readonly until: number;
  failure: Failure = FAILURE.noTarget;
  group: Group | null = null;
  drops: number;
  /** Milliseconds on the monotonic clock. */
  notBefore = 0;
  /** Whether it waits for a pool of a newer table than the one it came with. */
  moved = false;
  private readonly left: (held: HeldRequest) => void;

  constructor(x: Exchange, until: number, left: (held: HeldRequest) => void, drops = 0) {
    super();
    this.x = x;
    this.until = until;
    this.left = left;
    this.drops = drops;
  }

  cancel(): void {
    this.left(this);
  }
}
