import { ByteStore } from './byte-store.ts';

/** What an entry counts for in addition to its name and value (RFC 7541 4.1). */
export const ENTRY_OVERHEAD = 32;
/** What a line has in addition to its name and value: `: ` and CRLF. */
export const LINE_OVERHEAD = 4;
const FIRST_BYTES = 1_024;
const FIRST_ENTRIES = 16;
/** An entry is two numbers: [start · known · oddities, name length · line length]. */
const NUMBERS = 2;
const KNOWN_SHIFT = 2;
const START_SHIFT = 8;
const NAME_SHIFT = 16;
/** The largest table whose entries fit these numbers. */
export const MAX_TABLE_BYTES = 65_536;

/**
 * The dynamic table of a decoder (RFC 7541 2.3.2). Each entry is kept as a complete line together with what the decoder found out about it,
 * so that an indexed field costs one copy. Nothing is allocated before the first insertion, and never more than the largest size.
 */
export class FieldTable {
  /** The lines of all entries, the oldest first. */
  readonly lines = new ByteStore(0);
  /** The entry that `find` found: its line is [start, end) of `lines`, and its name ends at `colon`. */
  start = 0;
  colon = 0;
  end = 0;
  known = 0;
  oddities = 0;
  private entries = new Int32Array(0);
  /** How many entries were ever inserted, and how many of them are left. */
  private inserted = 0;
  private count = 0;
  /** The end of the newest line. */
  private used = 0;
  private size = 0;
  private maxBytes: number;

  /** `maxBytes`: the size as RFC 7541 4.1 counts it, 0–MAX_TABLE_BYTES. */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** Changes the size (RFC 7541 4.3). 0–MAX_TABLE_BYTES. */
  resize(maxBytes: number): void {
    this.maxBytes = maxBytes;
    this.evict(maxBytes);
  }

  /** Looks up an entry; 0 is the newest. @returns false if there is none. */
  find(index: number): boolean {
    if (index >= this.count) return false;
    const entry = this.slot(this.inserted - 1 - index);
    const first = this.entries[entry] as number;
    const second = this.entries[entry + 1] as number;
    this.start = first >>> START_SHIFT;
    this.known = (first >>> KNOWN_SHIFT) & 63;
    this.oddities = first & 3;
    this.colon = this.start + (second >>> NAME_SHIFT);
    this.end = this.start + (second & 0xffff);
    return true;
  }

  /** Inserts a line, which is copied, and evicts older ones for it (RFC 7541 4.4). The numbers are those of `FieldSink`. */
  insert(source: ByteStore, start: number, colon: number, end: number, known: number, oddities: number): void {
    const size = end - start - LINE_OVERHEAD + ENTRY_OVERHEAD;
    this.evict(this.maxBytes - size);
    // An entry that does not fit leaves the table empty. That is not an error.
    if (size > this.maxBytes) return;
    const length = end - start;
    if (this.used + length > this.lines.room) this.makeRoom(length);
    if (this.count * NUMBERS === this.entries.length) this.growEntries();
    const entry = this.slot(this.inserted++);
    this.entries[entry] = (this.used << START_SHIFT) | (known << KNOWN_SHIFT) | oddities;
    this.entries[entry + 1] = ((colon - start) << NAME_SHIFT) | length;
    this.lines.copy(source, start, end, this.used);
    this.used += length;
    this.size += size;
    this.count++;
  }

  /** Evicts the oldest entries until the rest has at most this many bytes. */
  private evict(maxBytes: number): void {
    while (this.size > maxBytes && this.count > 0) {
      const length = (this.entries[this.slot(this.inserted - this.count) + 1] as number) & 0xffff;
      this.size -= length - LINE_OVERHEAD + ENTRY_OVERHEAD;
      this.count--;
    }
    if (this.count === 0) this.used = 0;
  }

  /**
   * Moves the lines to the beginning, and to more room if they need it. They always fit, since each line is shorter than the size of its
   * entry; the difference also makes this rare.
   */
  private makeRoom(length: number): void {
    const first = this.count === 0 ? this.used : this.startOf(this.inserted - this.count);
    const live = this.used - first;
    const { room } = this.lines;
    if (live + length > room / 2 && room < this.maxBytes)
      this.lines.move(Math.min(this.maxBytes, Math.max(FIRST_BYTES, room * 2, live + length)), first, this.used);
    else this.lines.bytes.copyWithin(0, first, this.used);
    for (let id = this.inserted - this.count; id < this.inserted; id++) {
      const entry = this.slot(id);
      this.entries[entry] = (this.entries[entry] as number) - (first << START_SHIFT);
    }
    this.used = live;
  }

  private growEntries(): void {
    const entries = new Int32Array(Math.max(FIRST_ENTRIES * NUMBERS, this.entries.length * 2));
    for (let at = 0; at < this.count; at++) {
      const entry = this.slot(this.inserted - this.count + at);
      entries[at * NUMBERS] = this.entries[entry] as number;
      entries[at * NUMBERS + 1] = this.entries[entry + 1] as number;
    }
    this.entries = entries;
    this.inserted = this.count;
  }

  private startOf(id: number): number {
    return (this.entries[this.slot(id)] as number) >>> START_SHIFT;
  }

  /** The index of the numbers of the entry that was the `id`th insertion. The capacity is a power of two. */
  private slot(id: number): number {
    return (id * NUMBERS) & (this.entries.length - 1);
  }
}
