import { cached } from './client-key.ts';
import { clientNetwork } from './client-network.ts';
import { type Key, keyOf } from './hash.ts';
import { SharedHashTable } from './hash-table.ts';

/** The maximum number of client addresses counted at once; only the total limit applies to an address without a slot. */
const CAPACITY = 1 << 16;
/** Seconds after which an address without connections gives up its slot. */
const QUIET_SECS = 2;
/** Each reason is logged at most once in this many seconds. */
const LOG_SECS = 60;

/** Why a client's connection was closed before any HTTP was read. */
export const REFUSALS = ['limit', 'address_limit', 'untrusted_proxy', 'proxy_header', 'descriptors'] as const;
export type ConnectionRefusal = (typeof REFUSALS)[number];

/** Words before the columns: for each reason its count and when it was last logged (seconds since 1970, 0 for never). */
const COUNTS = 0;
const LOGGED = REFUSALS.length;
/** Then one column per worker for client connections, one for connections to upstreams, and one for files that are being sent. */
const HEADER = 2 * REFUSALS.length;
const KINDS = 3;

/** `maxConnections` limits client connections; `maxSockets` limits everything that is counted together, by file descriptors. */
export type ConnectionLimits = { readonly maxConnections: number; readonly maxSockets: number };

/** Stands for a slot if there was no room for the address, or nothing to count. */
export const UNCOUNTED = -1;

/**
 * Open client connections in total and by address, exact over all workers. Each worker counts in its own column, so
 * the columns of a dead worker are simply zeroed. A slot that gets a new owner is not cleared: it is idle, and a worker
 * that counted there also subtracts there.
 */
export class Connections {
  private readonly header: Int32Array;
  private readonly columns: number;
  private readonly slots: SharedHashTable;
  /** For each slot: last use in seconds, then one column per worker. */
  private readonly words: Int32Array;

  constructor(buffer: SharedArrayBuffer, workers: number) {
    const head = HEADER + KINDS * workers;
    this.columns = workers;
    this.header = new Int32Array(buffer, 0, head);
    this.slots = new SharedHashTable(new Int32Array(buffer, head * 4, CAPACITY));
    this.words = new Int32Array(buffer, (head + CAPACITY) * 4);
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(4 * (HEADER + KINDS * workers + CAPACITY * (2 + workers)));
  }

  /** Number of open client connections. */
  open(): number {
    return sum(this.header, HEADER, this.columns);
  }

  /** Number of descriptors in use: of connections from clients and to upstreams, and of files that are being sent. */
  sockets(): number {
    return sum(this.header, HEADER, KINDS * this.columns);
  }

  /** Counts one more client connection unless a limit forbids it. @returns the reason, or null. */
  enter(worker: number, limits: ConnectionLimits): ConnectionRefusal | null {
    if (!addWithin(limits.maxConnections, this.header, HEADER + worker, HEADER, this.columns)) return 'limit';
    if (this.sockets() <= limits.maxSockets) return null;
    this.leave(worker);
    return 'descriptors';
  }

  leave(worker: number): void {
    Atomics.sub(this.header, HEADER + worker, 1);
  }

  /** Counts one more connection to an upstream if that keeps all sockets within the limit. @returns whether it did. */
  enterUpstream(worker: number, maxSockets: number): boolean {
    return addWithin(maxSockets, this.header, HEADER + this.columns + worker, HEADER, KINDS * this.columns);
  }

  leaveUpstream(worker: number): void {
    Atomics.sub(this.header, HEADER + this.columns + worker, 1);
  }

  /** Counts one more file that is being sent if that keeps everything within the limit, and files within half of it. @returns whether it did. */
  enterFile(worker: number, maxSockets: number): boolean {
    const files = HEADER + 2 * this.columns;
    if (!addWithin(Math.floor(maxSockets / 2), this.header, files + worker, files, this.columns)) return false;
    if (this.sockets() <= maxSockets) return true;
    this.leaveFile(worker);
    return false;
  }

  leaveFile(worker: number): void {
    Atomics.sub(this.header, HEADER + 2 * this.columns + worker, 1);
  }

  /**
   * Counts one more connection of an address if that keeps it within `limit`; `now` in ms since 1970.
   * @returns the slot for `leaveAddress`, or null if it would be one too many.
   */
  enterAddress(key: Key, worker: number, limit: number, now: number): number | null {
    const seconds = Math.floor(now / 1_000);
    const slot = this.slots.findOrReplaceIdle(key.hash, key.fingerprint, (other) => this.quiet(other, seconds));
    if (slot < 0) return UNCOUNTED;
    const first = this.first(slot);
    Atomics.store(this.words, first, seconds);
    return addWithin(limit, this.words, first + 1 + worker, first + 1, this.columns) ? slot : null;
  }

  leaveAddress(slot: number, worker: number): void {
    if (slot !== UNCOUNTED) Atomics.sub(this.words, this.first(slot) + 1 + worker, 1);
  }

  /** Number of open connections of an address. */
  openFrom(key: Key): number {
    const slot = this.slots.find(key.hash, key.fingerprint);
    return slot < 0 ? 0 : sum(this.words, this.first(slot) + 1, this.columns);
  }

  /** Counts a refusal. @returns whether to log it: true in one worker, once a minute for each reason. */
  refused(reason: ConnectionRefusal, now: number): boolean {
    const at = REFUSALS.indexOf(reason);
    Atomics.add(this.header, COUNTS + at, 1);
    const seconds = Math.floor(now / 1_000);
    const logged = Atomics.load(this.header, LOGGED + at);
    if (logged !== 0 && seconds - (logged >>> 0) < LOG_SECS) return false;
    return Atomics.compareExchange(this.header, LOGGED + at, logged, seconds | 0) === logged;
  }

  /** Open connections, and refusals since the start; counts wrap around at 2^32. */
  reading(): { readonly open: number; readonly refused: readonly (readonly [reason: ConnectionRefusal, count: number])[] } {
    const refused = REFUSALS.map((reason, at) => [reason, Atomics.load(this.header, COUNTS + at) >>> 0] as const);
    return { open: this.open(), refused };
  }

  /** Forgets the connections of a dead worker. */
  clearWorker(worker: number): void {
    Atomics.store(this.header, HEADER + worker, 0);
    Atomics.store(this.header, HEADER + this.columns + worker, 0);
    Atomics.store(this.header, HEADER + 2 * this.columns + worker, 0);
    for (let slot = 0; slot < CAPACITY; slot++) {
      // Slots that were never used are only read: a write would make the system allocate their pages.
      const word = this.first(slot) + 1 + worker;
      if (Atomics.load(this.words, word) !== 0) Atomics.store(this.words, word, 0);
    }
  }

  private quiet(slot: number, seconds: number): boolean {
    const first = this.first(slot);
    const idle = seconds - (Atomics.load(this.words, first) >>> 0);
    return idle >= QUIET_SECS && sum(this.words, first + 1, this.columns) === 0;
  }

  private first(slot: number): number {
    return slot * (1 + this.columns);
  }
}

/** The key under which a client's connections are counted. */
export const connectionKey = cached((address) => keyOf(`connection\n${clientNetwork(address)}`));

/** Attempts before a worker gives way to others that compete at the same moment. */
const MAX_TRIES = 64;

/** Adds one to the word at `own` if the sum of the `count` words from `from` then stays within `limit`. @returns whether it did. */
function addWithin(limit: number, words: Int32Array, own: number, from: number, count: number): boolean {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    Atomics.add(words, own, 1);
    if (sum(words, from, count) <= limit) return true;
    Atomics.sub(words, own, 1);
    // Without us the sum is below the limit: others have tried at the same moment, and one of us can still get the last one.
    if (sum(words, from, count) >= limit) return false;
    // Each worker waits for a different time, or they would collide again.
    for (let wait = (own - from) * tries; wait > 0; wait--) Atomics.load(words, own);
  }
  return false;
}

function sum(words: Int32Array, from: number, count: number): number {
  let total = 0;
  for (let at = from; at < from + count; at++) total += Atomics.load(words, at);
  return total;
}
