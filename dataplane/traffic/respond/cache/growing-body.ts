import { UNTIL_CLOSE } from '../../exchange/exchange.ts';
import type { CacheStore } from './store.ts';
import type { BodyUser, StoredBody } from './stored-bodies.ts';

const FIRST_PIECE = 16_384;
const LARGEST_PIECE = 1_048_576;
/** How many bytes the fastest client may lag behind a response that is stored. One that lags further behind one that is not takes memory. */
const MAX_BEHIND = 1_048_576;
/** No more of a response that is not stored is received while a client lags this far behind (bytes): any that reads does not count above. */
const BEHIND_UNSTORED = 262_144;

type BodyReader = BodyUser & { readonly at: number };

/** The body of a response that is being received, held once in shared memory for all readers and for the cache. */
export class GrowingBody implements BodyUser {
  private readonly length: number;
  private readonly store: CacheStore;
  /** The maximum size of a response when it began. */
  private readonly largest: number;
  /** Pieces of `sizes`; null where they are no longer needed. */
  readonly pieces: (Buffer | null)[] = [];
  private memory: SharedArrayBuffer[] = [];
  private room = 0;
  /** Bytes that are reserved, but have no memory yet: the rest of a body of known length. */
  private planned = 0;
  private reserved = 0;
  private readers: ReadonlySet<BodyReader> = new Set();
  private storedBody: StoredBody | null = null;
  private dropped = 0;
  private droppedBytes = 0;
  received = 0;
  /** Whether it may still be stored, and whether it is too large for that. */
  stored = true;
  tooLarge = false;
  complete = false;
  /** Whole lines; known once it is complete. */
  trailers = '';

  private constructor(length: number, store: CacheStore) {
    this.length = length;
    this.store = store;
    this.largest = store.largest;
  }

  /** `length` in bytes or UNTIL_CLOSE. @returns null if there is no room for it. */
  static open(length: number, store: CacheStore): GrowingBody | null {
    if (length > store.largest) return null;
    const body = new GrowingBody(length, store);
    if (length === UNTIL_CLOSE) return body;
    if (!store.reserve(length)) return null;
    body.reserved = length;
    body.planned = length;
    return body;
  }

  /** Whether it is whole now, and will be stored. The cache may have become smaller since it began. */
  get isStorable(): boolean {
    const { stored, length, received, largest, store } = this;
    return stored && (length === UNTIL_CLOSE || length === received) && (store.largest >= largest || received <= store.largest);
  }

  append(buffer: Buffer, from: number, to: number): void {
    for (let at = from; at < to; ) {
      if (this.room === 0) this.makeRoom();
      const piece = this.pieces.at(-1) as Buffer;
      const copied = buffer.copy(piece, piece.length - this.room, at, Math.min(to, at + this.room));
      this.room -= copied;
      this.received += copied;
      at += copied;
    }
  }

  private makeRoom(): void {
    const size = Math.min(LARGEST_PIECE, this.planned > 0 ? this.planned : Math.max(FIRST_PIECE, this.received));
    if (this.planned > 0) this.planned -= size;
    else if (this.stored) {
      const { store, received } = this;
      this.tooLarge = received >= store.largest || received + size > store.largest + LARGEST_PIECE;
      if (!this.tooLarge && store.reserve(size)) this.reserved += size;
      else this.giveUp();
    }
    this.grow(size);
  }

  private grow(size: number): void {
    const memory = new SharedArrayBuffer(size);
    this.memory.push(memory);
    this.pieces.push(Buffer.from(memory));
    this.room = size;
  }

  /** It is not stored any more. */
  giveUp(): void {
    this.stored = false;
    this.free();
  }

  /** @returns whether the fastest of these readers keeps up, or there are none. */
  isRead(readers: ReadonlySet<BodyReader>): boolean {
    let fastest = readers.size === 0 ? this.received : 0;
    for (const { at } of readers) fastest = Math.max(fastest, at);
    return this.received - fastest < MAX_BEHIND;
  }

  /** Forgets the pieces that all of these readers have read. @returns whether the slowest of them keeps up. */
  dropRead(readers: ReadonlySet<BodyReader>): boolean {
    let slowest = this.received;
    for (const { at } of readers) slowest = Math.min(slowest, at);
    for (; this.dropped < this.pieces.length - 1; this.dropped++) {
      const piece = this.pieces[this.dropped] as Buffer;
      if (this.droppedBytes + piece.length > slowest) break;
      this.droppedBytes += piece.length;
      this.pieces[this.dropped] = null;
      this.memory = [];
    }
    this.readers = readers;
    const behind = this.received - slowest;
    this.store.leftovers.note(this, behind < MAX_BEHIND ? 0 : this.received - this.droppedBytes);
    return behind < BEHIND_UNSTORED;
  }

  end(trailers: string): void {
    this.free();
    this.complete = true;
    this.trailers = trailers;
  }

  /** It is complete and stored; these readers have not read all of it yet. */
  share(stored: StoredBody, readers: ReadonlySet<BodyReader>): void {
    if (readers.size === 0) return;
    this.readers = readers;
    this.storedBody = stored;
    stored.use(this);
  }

  /** A reader has read a part of it, or does not need it any more. */
  progress(): void {
    if (this.readers.size > 0) return this.storedBody?.use(this);
    this.storedBody?.leave(this);
    this.store.leftovers.note(this, 0);
  }

  cut(): void {
    const all = this.storedBody !== null;
    for (const reader of [...this.readers]) if (all || this.received - reader.at >= MAX_BEHIND) reader.cut();
  }

  /** The memory of the whole body, of exactly its size. */
  close(): SharedArrayBuffer[] {
    const { memory, room } = this;
    const last = memory.at(-1);
    this.free();
    if (last === undefined || room === 0) return memory;
    const size = last.byteLength - room;
    const exact = new SharedArrayBuffer(size);
    Buffer.from(exact).set(Buffer.from(last, 0, size));
    return size === 0 ? memory.slice(0, -1) : [...memory.slice(0, -1), exact];
  }

  /** Releases the memory that was reserved while it was received. */
  free(): void {
    this.store.free(this.reserved);
    this.reserved = 0;
  }
}
