import { keyOf } from './hash.ts';
import { SharedHashTable } from './hash-table.ts';

/** Maximum number of clients remembered; of those in one bucket, the one whose wrong guess is oldest is forgotten first. */
const CAPACITY = 1 << 15;
/**
 * How long a client is remembered (seconds). This is enough for hundreds of clients to guess once each, at a few comparisons per second.
 */
const REMEMBERED_SECS = 600;

/** Remembers which clients recently sent a wrong password, for all workers. */
export class WrongGuesses {
  private readonly slots: SharedHashTable;
  /** When each client last guessed wrong: the low 32 bits of seconds since 1970. */
  private readonly times: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.slots = new SharedHashTable(new Int32Array(buffer, 0, CAPACITY));
    this.times = new Int32Array(buffer, CAPACITY * 4);
  }

  static buffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(CAPACITY * 8);
  }

  /** `client` is the result of `clientNetwork`, `now` is in ms since 1970. */
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

  /** Seconds since a client's last wrong guess; the greatest value if the clock has been set back. */
  private age(slot: number, seconds: number): number {
    return (seconds - Atomics.load(this.times, slot)) >>> 0;
  }
}

const inSeconds = (now: number): number => Math.floor(now / 1_000) | 0;
/** Nothing to clear: the caller overwrites the slot immediately. */
const nothing = (): void => undefined;
