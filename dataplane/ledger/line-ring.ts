/** Bytes of lines that one worker can be ahead of their reader; a power of two. */
const CAPACITY = 1 << 20;
const MASK = CAPACITY - 1;
/** With this much unread, the reader is woken instead of waiting for its next turn. */
const WAKE_AT = CAPACITY >> 1;
/** A record's head: the length of its text and its number. Records begin at multiples of this. */
const RECORD_HEAD = 8;
/** In place of a length: the rest of the buffer is unused, and the next record is at its start. */
const SKIP = -1;

/** Positions in the head of a buffer, in 32-bit words. All rings of a process share the first three. */
const BELL = 0;
const EPOCH = 1;
const LOST = 2;
const SHARED_BYTES = 64;
/** Positions in the head of one ring. Each is written by one side only. */
const WRITTEN = 0;
const READ = 16;
const DROPPED = 32;
const RING_HEAD = 192;

/**
 * Lines from a worker to the thread that writes them: a ring in shared memory with one writer and one reader. Neither ever waits for the
 * other. A line that doesn't fit is dropped and counted. Lines outlive the worker that wrote them.
 */
export class LineRing {
  private readonly shared: Int32Array;
  private readonly head: Int32Array;
  private readonly words: Int32Array;
  private readonly bytes: Buffer;

  constructor(buffer: SharedArrayBuffer, slot: number) {
    const at = SHARED_BYTES + slot * (RING_HEAD + CAPACITY);
    this.shared = new Int32Array(buffer, 0, SHARED_BYTES / 4);
    this.head = new Int32Array(buffer, at, RING_HEAD / 4);
    this.words = new Int32Array(buffer, at + RING_HEAD, CAPACITY / 4);
    this.bytes = Buffer.from(buffer, at + RING_HEAD, CAPACITY);
  }

  /** Memory that is never written to is not allocated by the system. */
  static buffer(slots: number): SharedArrayBuffer {
    return new SharedArrayBuffer(SHARED_BYTES + slots * (RING_HEAD + CAPACITY));
  }

  static slots(buffer: SharedArrayBuffer): number {
    return (buffer.byteLength - SHARED_BYTES) / (RING_HEAD + CAPACITY);
  }

  /** How often a reader has started. */
  get epoch(): number {
    return Atomics.load(this.shared, EPOCH);
  }

  /**
   * Adds a line of Latin-1 text under a number that means something to the reader. `count` is how many it counts for if it is dropped.
   * @returns false if it was dropped.
   */
  push(number: number, text: string, count = 1): boolean {
    const { head } = this;
    const size = (RECORD_HEAD + text.length + RECORD_HEAD - 1) & -RECORD_HEAD;
    const written = Atomics.load(head, WRITTEN);
    const unread = (written - Atomics.load(head, READ)) >>> 0;
    let at = written & MASK;
    const rest = CAPACITY - at;
    const needed = rest < size ? rest + size : size;
    if (unread + needed > CAPACITY) {
      Atomics.add(head, DROPPED, count);
      return false;
    }
    if (rest < size) {
      this.words[at >> 2] = SKIP;
      at = 0;
    }
    this.words[at >> 2] = text.length;
    this.words[(at >> 2) + 1] = number;
    this.bytes.write(text, at + RECORD_HEAD, text.length, 'latin1');
    Atomics.store(head, WRITTEN, (written + needed) | 0);
    if (unread < WAKE_AT && unread + needed >= WAKE_AT) this.wake();
    return true;
  }

  /** Lines that did not fit, since the process started. */
  get dropped(): number {
    return Atomics.load(this.head, DROPPED) >>> 0;
  }

  /** Passes every line to `take` and frees its room. The bytes are valid only during the call. */
  read(take: (number: number, bytes: Buffer, from: number, to: number) => void): void {
    const { head, words } = this;
    const written = Atomics.load(head, WRITTEN);
    let read = Atomics.load(head, READ);
    while (read !== written) {
      const at = read & MASK;
      const length = words[at >> 2] as number;
      if (length === SKIP) {
        read = (read + CAPACITY - at) | 0;
        continue;
      }
      const from = at + RECORD_HEAD;
      take(words[(at >> 2) + 1] as number, this.bytes, from, from + length);
      read = (read + ((RECORD_HEAD + length + RECORD_HEAD - 1) & -RECORD_HEAD)) | 0;
    }
    Atomics.store(head, READ, read);
  }

  private wake(): void {
    Atomics.add(this.shared, BELL, 1);
    Atomics.notify(this.shared, BELL);
  }
}

/** The reader's side of all rings. */
export class LineRings {
  readonly rings: readonly LineRing[];
  private readonly shared: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.shared = new Int32Array(buffer, 0, SHARED_BYTES / 4);
    this.rings = Array.from({ length: LineRing.slots(buffer) }, (_, slot) => new LineRing(buffer, slot));
  }

  /** A reader has started that knows no numbers: writers have to announce theirs again. */
  begin(): void {
    Atomics.add(this.shared, EPOCH, 1);
  }

  /** How often a ring has become half full. */
  get bell(): number {
    return Atomics.load(this.shared, BELL);
  }

  /**
   * Waits until a ring is half full, or for `ms`. Pass the `bell` from before the last reading, so that a bell since then isn't missed.
   */
  async wait(ms: number, bell: number): Promise<void> {
    const { async, value } = Atomics.waitAsync(this.shared, BELL, bell, ms);
    if (async) await value;
  }

  /** Counts lines that the reader could not write. */
  lose(lines: number): void {
    Atomics.add(this.shared, LOST, lines);
  }

  /** Lines that were lost since the process started, on either side. */
  lost(): number {
    return this.rings.reduce((sum, { dropped }) => sum + dropped, Atomics.load(this.shared, LOST) >>> 0);
  }
}
