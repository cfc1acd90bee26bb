import { ENTRY_OVERHEAD } from './field-table.ts';
import { FIRST_DYNAMIC } from './static-table.ts';

/** Entries that need more than this share of the table are not worth what they evict. */
const MOST_SHARE = 0.75;

type Entry = { readonly text: string; readonly alias: string; readonly bytes: number };

/** A copy of the text, which otherwise could keep a whole head in memory. */
const copied = (text: string): string => Buffer.from(text, 'latin1').toString('latin1');

/** The dynamic table of an encoder (RFC 7541 2.3.2): it finds the index of a line by its text. */
export class LineIndex {
  /** The number of the entry for each text. Numbers grow with each insertion. */
  private readonly numbers = new Map<string, number>();
  /** The oldest first. */
  private readonly entries: Entry[] = [];
  private inserted = 0;
  private bytes = 0;
  private mostBytes: number;

  /** `mostBytes`: the size as RFC 7541 4.1 counts it. */
  constructor(mostBytes: number) {
    this.mostBytes = mostBytes;
  }

  /** The index of the line with this text, which is the text of an entry or its alias; 0 if there is none. */
  find(text: string): number {
    const number = this.numbers.get(text);
    return number === undefined ? 0 : FIRST_DYNAMIC + this.inserted - number;
  }

  /** Whether an entry with a name and value of so many bytes is worth its room. */
  holds(length: number): boolean {
    return length + ENTRY_OVERHEAD <= this.mostBytes * MOST_SHARE;
  }

  /**
   * Inserts an entry and evicts older ones for it (RFC 7541 4.4). `text`: `name: value` in lower case, with `length` bytes of name and value.
   * `alias`: the same field as it was written, which finds it as well.
   */
  insert(text: string, alias: string, length: number): void {
    const entry = { text: copied(text), alias: alias === text ? '' : copied(alias), bytes: length + ENTRY_OVERHEAD };
    this.evict(this.mostBytes - entry.bytes);
    this.entries.push(entry);
    this.bytes += entry.bytes;
    this.inserted++;
    this.numbers.set(entry.text, this.inserted);
    if (entry.alias !== '') this.numbers.set(entry.alias, this.inserted);
  }

  /** Changes the size (RFC 7541 4.3). */
  resize(mostBytes: number): void {
    this.mostBytes = mostBytes;
    this.evict(mostBytes);
  }

  private evict(most: number): void {
    while (this.bytes > most) {
      const entry = this.entries.shift();
      if (entry === undefined) return;
      this.bytes -= entry.bytes;
      this.numbers.delete(entry.text);
      this.numbers.delete(entry.alias);
    }
  }
}
