import { keyOf } from './hash.ts';
import { SharedHashTable } from './hash-table.ts';

/** Clients that are remembered at the same time; of those that share a bucket the one that was wrong longest ago is forgotten first. */
const CAPACITY = 1 << 15;
/** How long (seconds): enough for a crowd of hundreds to be wrong once each, at a few compares a second. */
const REMEMBERED_SECS = 600;

/** Which clients were wrong about a password lately, whichever worker found it out. */
export class WrongGuesses {
  private readonly slots: SharedHashTable;
  /** When each was wrong last: the low 32 bits of seconds since 1970. */
  private readonly times: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.slots = new SharedHashTable(new Int32Array(buffer, 0, CAPACITY));
    this.times = new Int32Array(buffer, CAPACITY * 4);
  }

  static buffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(CAPACITY * 8);
  }

  /** `client` as `clientNetwork` has it, `now` in ms since 1970. */
  add(client: string, now: number): void {
    const { hash, fingerprint } = keyOf(`password\n${client}`);
    const seconds = inSeconds(now);
    const slot = this.slots.findOrInsert(hash, fingerprint, (other) => this.age(other, seconds), nothing);
    Atomics.store(this.times, slot, seconds);
  }

  has(client: string, now: number): boolean {
    const { hash, fingerprint } = keyOf(`password\n${client}`);
    const slot = this.slots.find(hash, fingerprint);
    return slot >= 0 && this.age(slot, inSeconds(now)) < REMEMBERED_SECS;
  }

  delete(client: string): void {
    const { hash, fingerprint } = keyOf(`password\n${client}`);
    const slot = this.slots.find(hash, fingerprint);
    if (slot >= 0) this.slots.free(slot);
  }

  /** Seconds since a client was wrong; after all others where the clock has been put back. */
  private age(slot: number, seconds: number): number {
    return (seconds - Atomics.load(this.times, slot)) >>> 0;
  }
}

const inSeconds = (now: number): number => Math.floor(now / 1_000) | 0;
/** What a slot held before is overwritten at once. */
const nothing = (): void => undefined;
