import { clientKey } from './client-key.ts';
import { type Key, keyOf } from './hash.ts';
import { SharedHashTable } from './hash-table.ts';

/** Maximum number of targets whose health is shared; beyond that, the one unused for longest is forgotten. */
const CAPACITY = 1 << 17;
/** Words of a target before its columns of requests in flight, one per worker. */
const WORDS = 9;
/** Consecutive failures. */
const FAILURES = 0;
/** When the time out of rotation ends (seconds); 0 if it is in, or has never been out. */
const OUT_UNTIL = 1;
/** When it was last used (seconds), which decides what is forgotten. */
const LAST_USE = 2;
/** That of probes and health checks. */
const RESULT = 3;
/** When it came back into rotation (seconds). */
const BACK_SINCE = 4;
/** When a request last found it full (seconds), and how many requests it could have. */
const FULL_AT = 5;
const FULL_LIMIT = 6;
/** Whose requests failed: the fingerprint of a client, or one of those below. */
const FAILED_CLIENT = 7;
/** For how long it is out (seconds). */
const OUT_SECS = 8;

/** A request that waits for a place finds its target full several times within this time (s). */
const WAITS_SECS = 2;

/** Consecutive failures that take a target out of rotation; the default of routes. */
export const FAILURES_TO_EJECT = 3;
/** How many seconds it then stays out, unless a response arrives sooner; the default of routes. */
export const EJECTED_SECS = 10;

/** In place of the fingerprint of a client: none of its requests has failed since the last response, or failures are not all of one's. */
const [NO_CLIENT, ALL_CLIENTS] = [0, 1];

/** The result of probes and health checks so far. */
export const CHECK_RESULT = { none: 0, healthy: 1, unhealthy: 2 } as const;
export type CheckResult = (typeof CHECK_RESULT)[keyof typeof CHECK_RESULT];

/**
 * The name of a target. A different id makes a different target, even at the same address, and so does a different
 * `transport` (the result of `transportName`): one may fail while the other does not.
 */
export const targetName = (address: string, tls: boolean, id?: string | null, transport = ''): string =>
  `${transport === '' ? '' : `[${transport}] `}${tls ? 'tls ' : ''}${address}${id == null ? '' : ` ${id}`}`;

/** The ledger's key of a target, the same in every thread. */
export const targetKey = (address: string, tls: boolean, id?: string | null, transport = ''): Key =>
  keyOf(`target\n${targetName(address, tls, id, transport)}`);

/**
 * Health and load of upstream targets, shared by all workers. Each `now` is in ms since 1970, and `secs` are seconds. Times are kept as
 * whole seconds since 1970 (good until 2038 in a signed word, compared as unsigned until 2106).
 *
 * By the outcomes of requests, a target is in one of these states:
 * - in rotation. Enough failures in a row (`failed`), or too high a rate of them (`eject`), take it out.
 * - out, for all clients or for the one whose requests failed (`ejectedFor`). A response brings it back (`succeeded`), unless its rate
 *   took it out.
 * - untried, after that time: the first request to it (`tryAgain`) takes it out for all others until it has responded.
 */
export class Targets {
  private readonly slots: SharedHashTable;
  private readonly words: Int32Array;
  private readonly columns: number;

  constructor(buffer: SharedArrayBuffer, workers: number) {
    this.slots = new SharedHashTable(new Int32Array(buffer, 0, CAPACITY));
    this.words = new Int32Array(buffer, CAPACITY * 4);
    this.columns = workers;
  }

  static buffer(workers: number): SharedArrayBuffer {
    return new SharedArrayBuffer(CAPACITY * 4 * (1 + WORDS + workers));
  }

  /** The target's slot, valid for as long as it is in use; `now` in ms since 1970. */
  claim(key: Key, now: number): number {
    const seconds = Math.floor(now / 1_000);
    const slot = this.slots.findOrInsert(key.hash, key.fingerprint, (other) => seconds - (this.load(other, LAST_USE) >>> 0), this.clear);
    this.store(slot, LAST_USE, seconds);
    return slot;
  }

  /** Marks the target as in use at `now` (ms since 1970), so that it is not forgotten. Called periodically, not for each request. */
  used(slot: number, now: number): void {
    this.store(slot, LAST_USE, Math.floor(now / 1_000));
  }

  find(key: Key): number {
    return this.slots.find(key.hash, key.fingerprint);
  }

  /** Whether the target is out of rotation at `now` (ms since 1970), perhaps for one client only. */
  ejected(slot: number, now: number): boolean {
    const left = (this.load(slot, OUT_UNTIL) >>> 0) - now / 1_000;
    // It would be more if the clock had been set back, perhaps by hours.
    return left > 0 && left <= this.load(slot, OUT_SECS);
  }

  /** Whether the target is out of rotation at `now` (ms since 1970) for the client with this address. */
  ejectedFor(slot: number, now: number, address: string): boolean {
    if (!this.ejected(slot, now)) return false;
    const client = this.load(slot, FAILED_CLIENT);
    return client === ALL_CLIENTS || client === clientKey(address).fingerprint;
  }

  /** Called when the target has responded at `now` (ms since 1970); `most` as for `failed`. @returns whether it is back in rotation. */
  succeeded(slot: number, now: number, most = FAILURES_TO_EJECT): boolean {
    const failures = this.load(slot, FAILURES);
    if (failures === 0) return false;
    this.store(slot, FAILURES, 0);
    // A target that was ejected by its rate of errors stays out when it answers one of its last requests.
    if (failures < most && this.ejected(slot, now)) return false;
    const failed = Atomics.exchange(this.words, this.word(slot, FAILED_CLIENT), NO_CLIENT);
    if (failures < most || Atomics.exchange(this.words, this.word(slot, OUT_UNTIL), 0) === 0) return false;
    // One that was out for one client has served the others all the time.
    if (failed === ALL_CLIENTS) this.store(slot, BACK_SINCE, Math.floor(now / 1_000));
    return true;
  }

  /**
   * `most` failures in a row take it out for `secs`; 0 never. It is out for one client if all of them are of that client's requests; null
   * as `address` is a failure that any client's request would have met.
   * @returns whether this failure takes the target out, or out for all clients instead of one.
   */
  failed(slot: number, now: number, most = FAILURES_TO_EJECT, secs = EJECTED_SECS, address: string | null = null): boolean {
    const failures = Atomics.add(this.words, this.word(slot, FAILURES), 1) + 1;
    const client = address === null ? ALL_CLIENTS : clientKey(address).fingerprint;
    const before = Atomics.compareExchange(this.words, this.word(slot, FAILED_CLIENT), NO_CLIENT, client);
    const isAnothers = before !== NO_CLIENT && before !== ALL_CLIENTS && before !== client;
    if (isAnothers) this.store(slot, FAILED_CLIENT, ALL_CLIENTS);
    if (most === 0 || failures < most) return false;
    return this.removeFor(slot, now, secs) || isAnothers;
  }

  /** Whether all failures since its last response are of one client's requests. */
  failsOneClient(slot: number): boolean {
    const client = this.load(slot, FAILED_CLIENT);
    return client !== NO_CLIENT && client !== ALL_CLIENTS;
  }

  /**
   * Takes it out for `secs`, however many of its requests in flight succeed. @returns whether it was in, for all clients but one at least.
   */
  eject(slot: number, now: number, secs: number): boolean {
    this.store(slot, FAILURES, 0);
    const before = Atomics.exchange(this.words, this.word(slot, FAILED_CLIENT), ALL_CLIENTS);
    return this.removeFor(slot, now, secs) || before !== ALL_CLIENTS;
  }

  private removeFor(slot: number, now: number, secs: number): boolean {
    const already = this.ejected(slot, now);
    this.store(slot, OUT_SECS, secs);
    this.store(slot, OUT_UNTIL, Math.floor(now / 1_000) + secs);
    return !already;
  }

  /**
   * A request is about to be sent to the target. If it has been out for long enough, this one alone tries it: all others see it as out for
   * another `secs`, until a request has succeeded. `most` as for `failed`. @returns false if another request is trying it already.
   */
  tryAgain(slot: number, now: number, most: number, secs: number): boolean {
    const until = this.load(slot, OUT_UNTIL);
    if (until === 0 || this.ejected(slot, now)) return true;
    const word = this.word(slot, OUT_UNTIL);
    if (Atomics.compareExchange(this.words, word, until, Math.floor(now / 1_000) + secs) !== until) return false;
    this.store(slot, OUT_SECS, secs);
    // One success is enough, and one failure is, too.
    if (this.load(slot, FAILURES) < most) this.store(slot, FAILURES, most);
    return true;
  }

  /**
   * Whether it has been out for long enough at `now` (ms since 1970), but has neither responded nor passed a check since: until then,
   * nobody knows whether it works. One that was out for one client has served the others.
   */
  untried(slot: number, now: number): boolean {
    const until = this.load(slot, OUT_UNTIL) >>> 0;
    if (until === 0 || this.load(slot, FAILED_CLIENT) !== ALL_CLIENTS || this.ejected(slot, now)) return false;
    return this.load(slot, BACK_SINCE) >>> 0 <= until - this.load(slot, OUT_SECS);
  }

  /** When it came back into rotation, in ms since 1970; 0 if it has never been out. */
  backSince(slot: number): number {
    return (this.load(slot, BACK_SINCE) >>> 0) * 1_000;
  }

  /** Failures since its last response. */
  failures(slot: number): number {
    return this.load(slot, FAILURES);
  }

  /** The result of its probe or health check. Traffic never changes it. */
  checkResult(slot: number): CheckResult {
    return this.load(slot, RESULT) as CheckResult;
  }

  /** `now` in ms since 1970. */
  setCheckResult(slot: number, result: CheckResult, now: number): void {
    const before = Atomics.exchange(this.words, this.word(slot, RESULT), result);
    if (result === CHECK_RESULT.healthy && before !== result) this.store(slot, BACK_SINCE, Math.floor(now / 1_000));
  }

  begin(slot: number, worker: number): void {
    Atomics.add(this.words, this.word(slot, WORDS + worker), 1);
  }

  end(slot: number, worker: number): void {
    Atomics.sub(this.words, this.word(slot, WORDS + worker), 1);
  }

  /**
   * Counts a request that is about to be sent, so that no worker exceeds `most`. @returns whether it may be; if not, all workers together
   * have sent that many already, and it is not counted.
   */
  reserve(slot: number, worker: number, most: number): boolean {
    this.begin(slot, worker);
    if (this.inFlight(slot) > most) {
      this.end(slot, worker);
      return false;
    }
    // That there is a place for it says nothing about requests with a lower limit.
    if (this.load(slot, FULL_AT) !== 0 && most <= this.load(slot, FULL_LIMIT)) this.store(slot, FULL_AT, 0);
    return true;
  }

  /** A request of which the target may have `most` has found the target full at `now` (ms since 1970). */
  foundFull(slot: number, most: number, now: number): void {
    this.store(slot, FULL_LIMIT, most);
    this.store(slot, FULL_AT, Math.floor(now / 1_000));
  }

  /** Whether requests of any worker still lack a place there at `now` (ms since 1970). */
  lacksPlaces(slot: number, now: number): boolean {
    // That was later than now if the clock has been set back.
    return Math.abs(Math.floor(now / 1_000) - (this.load(slot, FULL_AT) >>> 0)) < WAITS_SECS;
  }

  inFlight(slot: number): number {
    let total = 0;
    for (let worker = 0; worker < this.columns; worker++) total += this.load(slot, WORDS + worker);
    return total;
  }

  /** Forgets the requests in flight of a dead worker. */
  clearWorker(worker: number): void {
    for (let slot = 0; slot < this.slots.capacity; slot++) {
      // Slots that were never used are only read: a write would make the system allocate their pages.
      if (this.load(slot, WORDS + worker) !== 0) this.store(slot, WORDS + worker, 0);
    }
  }

  private readonly clear = (slot: number): void => {
    for (let word = 0; word < WORDS + this.columns; word++) this.store(slot, word, 0);
  };

  private word(slot: number, word: number): number {
    return slot * (WORDS + this.columns) + word;
  }

  private load(slot: number, word: number): number {
    return Atomics.load(this.words, this.word(slot, word));
  }

  private store(slot: number, word: number, value: number): void {
    Atomics.store(this.words, this.word(slot, word), value);
  }
}
