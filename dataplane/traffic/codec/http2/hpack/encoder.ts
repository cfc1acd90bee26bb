import { INDEXING, type IndexingRule, ruleOf, ruleOfSpelled } from './indexing.ts';
import { type IndexedLine, LineIndex } from './line-index.ts';
import { isRepeated } from './repetitions.ts';
import { STATIC_FIELDS } from './static-table.ts';
import { writeInteger, writeShorterString, writeString } from './write-literal.ts';

/** The largest part of the peer's table that we use; also its size before any setting (RFC 9113 6.5.2). */
const MAX_TABLE_BYTES = 4_096;
/** The first bits of the representations in RFC 7541 6, and the masks of the integers that follow. */
const INDEXED = 0x80;
const INDEXED_MASK = 0x7f;
const INSERTED = 0x40;
const INSERTED_MASK = 0x3f;
const SIZE = 0x20;
const SIZE_MASK = 0x1f;
const NEVER_INDEXED = 0x10;
const LITERAL_MASK = 0x0f;
const CRLF = 2;
/** The maximum that `begin` and `status` write (bytes). */
const BLOCK_OVERHEAD = 64;

/** The statuses of the static table. */
const STATUSES: ReadonlyMap<number, number> = new Map(
  STATIC_FIELDS.flatMap(([name, value], at): [number, number][] => (name === ':status' ? [[Number(value), at + 1]] : [])),
);

/** White space that may surround a value in HTTP/1.1 (RFC 9110 5.6.3) and may not in HTTP/2 (RFC 9113 8.2.1). */
const isWhite = (code: number): boolean => code === 32 || code === 9;

/**
 * Encodes the header blocks of one direction of a connection (RFC 7541). Most lines of a block repeat those of the last one, and such a
 * line costs one look-up and one or two bytes. Texts are Latin-1. Each method writes to `out` from index `at` and returns the end; make
 * room for `maxBytes` before.
 */
export class HpackEncoder {
  private readonly index = new LineIndex(MAX_TABLE_BYTES);
  /** Comes before the first line of each block. */
  private readonly first: IndexedLine = { text: '', line: '', bytes: 0, number: 0, next: null };
  /** The size last sent to the peer, the size to use from the next block on, and the smallest size since the last block. */
  private announced = MAX_TABLE_BYTES;
  private wanted = MAX_TABLE_BYTES;
  private smallest = MAX_TABLE_BYTES;

  /**
   * The most bytes of a block whose lines, names and values have this many characters. A field whose name and value have fewer than three
   * counts as three.
   */
  static maxBytes(characters: number): number {
    return characters * 2 + BLOCK_OVERHEAD;
  }

  /** The peer's SETTINGS_HEADER_TABLE_SIZE; we use at most 4,096 bytes of it. Valid from the next block on. */
  limitTable(bytes: number): void {
    this.wanted = Math.min(bytes, MAX_TABLE_BYTES);
    this.smallest = Math.min(this.smallest, this.wanted);
    this.index.resize(this.wanted);
  }

  /** Begins a block, with the changes of the table's size that the peer has to know (RFC 7541 4.2). */
  begin(out: Buffer, at: number): number {
    if (this.smallest === this.announced && this.wanted === this.announced) return at;
    let end = at;
    if (this.smallest < this.announced && this.smallest < this.wanted) end = writeInteger(out, end, SIZE, SIZE_MASK, this.smallest);
    end = writeInteger(out, end, SIZE, SIZE_MASK, this.wanted);
    this.announced = this.wanted;
    this.smallest = this.wanted;
    return end;
  }

  /** `:status`, 100–999. */
  status(out: Buffer, at: number, status: number): number {
    const index = STATUSES.get(status);
    if (index !== undefined) {
      out[at] = INDEXED | index;
      return at + 1;
    }
    return this.field(out, at, ':status', String(status));
  }

  /** One field; the name is in lower case. */
  field(out: Buffer, at: number, name: string, value: string): number {
    const rule = ruleOf(name);
    const index = rule.values?.get(value);
    if (index !== undefined) return writeInteger(out, at, INDEXED, INDEXED_MASK, index);
    if (isLiteral(rule)) return writeLiteral(out, at, rule, name, value);
    const text = `${name}: ${value}`;
    const entry = this.index.find(text);
    return entry === undefined ? this.newField(out, at, rule, name, value, text, '') : this.indexed(out, at, entry);
  }

  /**
   * HTTP/1.1 field lines, each with its CRLF. Names become lower case, and white space around values is removed. Fields that describe a
   * connection are left out (RFC 9113 8.2.2), and so is Content-Length.
   * @throws RangeError if the last line has no CRLF.
   */
  lines(out: Buffer, at: number, lines: string): number {
    let end = at;
    let from = 0;
    let last = this.first;
    while (from < lines.length) {
      // Most lines follow the same line as in the last block. Comparing them takes a third of the time of a look-up.
      const expected = last.next;
      if (expected !== null && expected.number > 0) {
        const after = from + expected.line.length;
        if (lines.slice(from, after) === expected.line) {
          end = this.indexed(out, end, expected);
          last = expected;
          from = after;
          continue;
        }
      }
      const to = lines.indexOf('\n', from) + 1;
      if (to === 0) throw new RangeError('the last field line has no end');
      const line = lines.slice(from, to);
      from = to;
      const entry = this.index.find(line);
      if (entry === undefined) end = this.newLine(out, end, line);
      else {
        end = this.indexed(out, end, entry);
        last.next = entry;
        last = entry;
      }
    }
    return end;
  }

  private newLine(out: Buffer, at: number, line: string): number {
    const colon = line.indexOf(':');
    let from = colon + 1;
    let to = line.length - CRLF;
    while (from < to && isWhite(line.charCodeAt(from))) from++;
    while (to > from && isWhite(line.charCodeAt(to - 1))) to--;
    const spelled = line.slice(0, colon);
    const rule = ruleOfSpelled(spelled);
    if (rule.omitted) return at;
    const name = rule.text === '' ? spelled.toLowerCase() : rule.text;
    const value = line.slice(from, to);
    const index = rule.values?.get(value);
    if (index !== undefined) return writeInteger(out, at, INDEXED, INDEXED_MASK, index);
    if (isLiteral(rule)) return writeLiteral(out, at, rule, name, value);
    const text = `${name}: ${value}`;
    const entry = this.index.find(text);
    return entry === undefined ? this.newField(out, at, rule, name, value, text, line) : this.indexed(out, at, entry);
  }

  private indexed(out: Buffer, at: number, entry: IndexedLine): number {
    return writeInteger(out, at, INDEXED, INDEXED_MASK, this.index.indexOf(entry));
  }

  /** A field that is in no table, and whose name allows indexing. */
  private newField(out: Buffer, at: number, rule: IndexingRule, name: string, value: string, text: string, line: string): number {
    const length = name.length + value.length;
    const inserts = this.index.holds(length) && (rule.indexing === INDEXING.first || isRepeated(text));
    if (!inserts) return writeLiteral(out, at, rule, name, value);
    this.index.insert(text, line, length);
    const end = writeInteger(out, at, INSERTED, INSERTED_MASK, rule.name);
    return writeShorterString(out, rule.name > 0 ? end : writeShorterString(out, end, name), value);
  }
}

const isLiteral = ({ indexing }: IndexingRule): boolean => indexing === INDEXING.none || indexing === INDEXING.never;

/** A literal that is not indexed (RFC 7541 6.2.2, 6.2.3), without Huffman code, which takes more time than the saved bytes are worth. */
function writeLiteral(out: Buffer, at: number, rule: IndexingRule, name: string, value: string): number {
  const end = writeInteger(out, at, rule.indexing === INDEXING.never ? NEVER_INDEXED : 0, LITERAL_MASK, rule.name);
  return writeString(out, rule.name > 0 ? end : writeString(out, end, name), value);
}
