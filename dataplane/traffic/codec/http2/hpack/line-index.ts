import { inOnePiece } from '../../one-piece.ts';
import { ENTRY_OVERHEAD } from './field-table.ts';
import { FIRST_DYNAMIC } from './static-table.ts';

/** An entry that needs more than this share of the table is not worth the entries that it would evict. */
const MAX_SHARE = 0.75;

/** A field of the dynamic table. */
export type IndexedLine = {
  /** `name: value`, the name in lower case. */
  readonly text: string;
  /** The field line as it was first sent, with its CRLF. Empty for a field that was not sent as a line. */
  readonly line: string;
  /** The size (RFC 7541 4.1). */
  readonly bytes: number;
  /** How many insertions there were up to this one, or 0 once it is evicted. */
  number: number;
  /** The entry whose line followed this one in the last block that had both. */
  next: IndexedLine | null;
};

/** The dynamic table of an encoder (RFC 7541 2.3.2): it finds an entry by the text of its field. */
export class LineIndex {
  private readonly byText = new Map<string, IndexedLine>();
  /** The oldest first. */
  private readonly entries: IndexedLine[] = [];
  private inserted = 0;
  private bytes = 0;
  private maxBytes: number;

  /** `maxBytes`: the size as RFC 7541 4.1 counts it. */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** The entry with this `text` or `line`. */
  find(text: string): IndexedLine | undefined {
    return this.byText.get(text);
  }

  /** The index of an entry that has not been evicted (RFC 7541 2.3.3). */
  indexOf(entry: IndexedLine): number {
    return FIRST_DYNAMIC + this.inserted - entry.number;
  }

  /** Whether an entry whose name and value have this many bytes is worth its room. */
  holds(length: number): boolean {
    return length + ENTRY_OVERHEAD <= this.maxBytes * MAX_SHARE;
  }

  /**
   * Inserts an entry, which `holds` has allowed, and evicts older ones for it (RFC 7541 4.4). `length`: the bytes of its name and value.
   * The texts are those of IndexedLine.
   */
  insert(text: string, line: string, length: number): IndexedLine {
    const bytes = length + ENTRY_OVERHEAD;
    this.evict(this.maxBytes - bytes);
    const entry: IndexedLine = { text: inOnePiece(text), line: inOnePiece(line), bytes, number: ++this.inserted, next: null };
    this.bytes += bytes;
    this.entries.push(entry);
    this.byText.set(entry.text, entry);
    if (line !== '') this.byText.set(entry.line, entry);
    return entry;
  }

  /** Changes the size (RFC 7541 4.3). */
  resize(maxBytes: number): void {
    this.maxBytes = maxBytes;
    this.evict(maxBytes);
  }

  private evict(maxBytes: number): void {
    while (this.bytes > maxBytes) {
      const entry = this.entries.shift();
      if (entry === undefined) return;
      this.bytes -= entry.bytes;
      this.byText.delete(entry.text);
      this.byText.delete(entry.line);
      entry.number = 0;
      // Otherwise evicted entries would keep each other in memory.
      entry.next = null;
    }
  }
}
