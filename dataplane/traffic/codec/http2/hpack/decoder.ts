import { CLASS, COLON, CR, FIELD_VALUE, HTAB, LF, SP } from '../../http1/chars.ts';
import { ByteStore } from './byte-store.ts';
import { BAD_NAME, readName } from './field-names.ts';
import { ENTRY_OVERHEAD, FieldTable, LINE_OVERHEAD, MAX_TABLE_BYTES } from './field-table.ts';
import { decodeHuffman, HAS_CONTROL, roomToDecode } from './huffman-decoder.ts';
import { STATIC_END, STATIC_KNOWN, STATIC_LINES, STATIC_NAME_LENGTH, STATIC_START } from './static-lines.ts';
import { FIRST_DYNAMIC } from './static-table.ts';

/** The size of a table before any setting (RFC 9113 6.5.2). */
const INITIAL_TABLE_BYTES = 4_096;
const FIRST_LINES_BYTES = 1_024;
/** CRLF (bytes). */
const LINE_END = 2;
/** Continuation bytes of an integer beyond this shift can only make it larger than anything that we accept, or be superfluous. */
const LAST_SHIFT = 28;
const MALFORMED = -1;
/**
 * How much longer than allowed a list may be before it ends the connection. Two bytes can insert a name of 4 KB into the table again, so
 * such a list would cost far more than the bytes that encode it (RFC 9113 10.5.1).
 */
const MAX_EXCESS = 1_048_576;
/** How much of a list is decoded in the time that one unit of the run queue stands for. */
const BYTES_PER_UNIT = 8;

/** What is wrong with a field that HPACK can carry. Bits. */
export const ODDITY = {
  /** The name, without a colon at its beginning, is not a lower-case token (RFC 9113 8.2.1). */
  name: 1,
  /** The value has a control character other than HTAB, or begins or ends with white space (RFC 9113 8.2.1, RFC 9110 5.5). */
  value: 2,
} as const;

/** A growing buffer that is reused from one header block to the next. */
export class FieldLines extends ByteStore {
  /** How many bytes are in use. Lower it to drop what was written last. */
  length = 0;

  constructor() {
    super(0);
  }

  /** Makes room for `more` bytes beyond `length`, which may reallocate `bytes`. */
  ensure(more: number): void {
    const wanted = this.length + more;
    if (wanted > this.room) this.move(Math.max(FIRST_LINES_BYTES, this.room * 2, wanted), 0, this.length);
  }
}

/** Receives the fields of a block one by one. */
export interface FieldSink {
  /**
   * One field, written at the end of `lines` as an HTTP/1.1 field line: the name is in [start, colon), followed by `: `, and the value in
   * [colon + 2, end - 2), followed by CRLF. Setting `lines.length` to `start` drops it. `known` is the index (1–61) of the first entry of
   * the static table with that name, in any of the forms that it can be sent in, and 0 for other names. `oddities` has the bits of ODDITY.
   */
  field(lines: FieldLines, start: number, colon: number, end: number, known: number, oddities: number): void;
}

/** Decodes the header blocks of one direction of a connection (RFC 7541). */
export class HpackDecoder {
  /** Whether the list of the last block was longer than allowed. */
  tooLarge = false;
  private readonly maxTableBytes: number;
  private readonly table = new FieldTable(INITIAL_TABLE_BYTES);
  /** How far the block has been read. */
  private at = 0;
  /** Whether the last string has a byte that may not be part of a field value. */
  private hasControl = false;
  private listBytes = 0;
  private maxBytes = 0;
  /** The sizes of all lists since the last `takeCost`. */
  private decoded = 0;

  /**
   * `tableBytes`: our SETTINGS_HEADER_TABLE_SIZE, 4,096–65,536. The peer may use 4,096 bytes until it has read our settings, so a smaller
   * table would depend on when it acknowledges them.
   * @throws RangeError for another size.
   */
  constructor(tableBytes: number) {
    if (tableBytes < INITIAL_TABLE_BYTES || tableBytes > MAX_TABLE_BYTES) throw new RangeError(`no table has ${tableBytes} bytes`);
    this.maxTableBytes = tableBytes;
  }

  /**
   * Decodes a whole header block, `buffer[from, to)`, and adds its fields to `lines`. `maxBytes` limits the size of the list, for which
   * each field counts its name, its value and 32 bytes (RFC 9113 6.5.2). Fields beyond it change the table, but the sink does not get them.
   * @returns false for a compression error (RFC 7541) or a list that exceeds the limit by more than 1 MiB. The connection can't be used
   * afterwards.
   */
  decode(buffer: Buffer, from: number, to: number, lines: FieldLines, maxBytes: number, sink: FieldSink): boolean {
    this.tooLarge = false;
    this.listBytes = 0;
    this.maxBytes = maxBytes;
    this.at = from;
    const complete = this.readSizes(buffer, to) && this.readFields(buffer, to, lines, sink);
    this.decoded += this.listBytes;
    return complete;
  }

  /** What decoding has cost since the last call, in units of the run queue. It depends on the lists, not on the bytes that stand for them. */
  takeCost(): number {
    const { decoded } = this;
    this.decoded = 0;
    return decoded / BYTES_PER_UNIT;
  }

  private readFields(buffer: Buffer, to: number, lines: FieldLines, sink: FieldSink): boolean {
    while (this.at < to) {
      const first = buffer[this.at] as number;
      if (first >= 0x80) {
        if (!this.readIndexed(this.readInteger(buffer, to, 0x7f), lines, sink)) return false;
      } else if (first >= 0x40) {
        if (!this.readLiteral(buffer, to, 0x3f, lines, sink)) return false;
      } else {
        // A size in the middle of a block is an error (RFC 7541 4.2).
        if (first >= 0x20 || !this.readLiteral(buffer, to, 0x0f, lines, sink)) return false;
      }
      if (this.listBytes > this.maxBytes + MAX_EXCESS) return false;
    }
    return true;
  }

  /** The changes of the table's size at the beginning of a block (RFC 7541 4.2, 6.3). */
  private readSizes(buffer: Buffer, to: number): boolean {
    while (this.at < to && ((buffer[this.at] as number) & 0xe0) === 0x20) {
      const size = this.readInteger(buffer, to, 0x1f);
      if (size < 0 || size > this.maxTableBytes) return false;
      this.table.resize(size);
    }
    return true;
  }

  /**
   * An integer (RFC 7541 5.1) whose prefix has the bits of `mask`. @returns MALFORMED if the block ends within it, or if it is larger than
   * any index, length or size that is valid.
   */
  private readInteger(buffer: Buffer, to: number, mask: number): number {
    let value = (buffer[this.at++] as number) & mask;
    if (value < mask) return value;
    for (let shift = 0; shift <= LAST_SHIFT; shift += 7) {
      if (this.at >= to) return MALFORMED;
      const byte = buffer[this.at++] as number;
      if (shift === LAST_SHIFT && (byte & 0x7f) !== 0) return MALFORMED;
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    return MALFORMED;
  }

  /**
   * RFC 7541 6.1. The line is copied only if the list has room for it, so that a short block can't cost much more than the longest list.
   */
  private readIndexed(index: number, lines: FieldLines, sink: FieldSink): boolean {
    if (index <= 0) return false;
    if (index < FIRST_DYNAMIC) {
      const start = STATIC_START[index] as number;
      const end = STATIC_END[index] as number;
      if (this.exceeds(end - start)) return true;
      const at = lines.length;
      lines.ensure(end - start);
      lines.copy(STATIC_LINES, start, end, at);
      lines.length = at + end - start;
      sink.field(lines, at, at + (STATIC_NAME_LENGTH[index] as number), lines.length, STATIC_KNOWN[index] as number, 0);
      return true;
    }
    const { table } = this;
    if (!table.find(index - FIRST_DYNAMIC)) return false;
    const { start, end } = table;
    if (this.exceeds(end - start)) return true;
    const at = lines.length;
    lines.ensure(end - start);
    lines.copy(table.lines, start, end, at);
    lines.length = at + end - start;
    sink.field(lines, at, at + table.colon - start, lines.length, table.known, table.oddities);
    return true;
  }

  /** A literal (RFC 7541 6.2), which is inserted into the table if `mask` is 0x3f. */
  private readLiteral(buffer: Buffer, to: number, mask: number, lines: FieldLines, sink: FieldSink): boolean {
    const start = lines.length;
    const index = this.readInteger(buffer, to, mask);
    let known = 0;
    let oddities = 0;
    if (index === 0) {
      if (!this.readString(buffer, to, lines)) return false;
      known = readName(lines.bytes, start, lines.length);
      if (known === BAD_NAME) {
        known = 0;
        oddities = ODDITY.name;
      }
    } else if (index > 0 && index < FIRST_DYNAMIC) {
      const length = STATIC_NAME_LENGTH[index] as number;
      const from = STATIC_START[index] as number;
      lines.ensure(length);
      lines.copy(STATIC_LINES, from, from + length, start);
      lines.length = start + length;
      known = STATIC_KNOWN[index] as number;
    } else {
      const { table } = this;
      if (index < 0 || !table.find(index - FIRST_DYNAMIC)) return false;
      lines.ensure(table.colon - table.start);
      lines.copy(table.lines, table.start, table.colon, start);
      lines.length = start + table.colon - table.start;
      known = table.known;
      oddities = table.oddities & ODDITY.name;
    }
    const colon = lines.length;
    lines.ensure(2);
    lines.bytes[colon] = COLON;
    lines.bytes[colon + 1] = SP;
    lines.length = colon + 2;
    if (!this.readString(buffer, to, lines)) return false;
    const valueEnd = lines.length;
    if (this.hasControl || hasWhiteEdge(lines.bytes, colon + 2, valueEnd)) oddities |= ODDITY.value;
    lines.ensure(LINE_END);
    lines.bytes[valueEnd] = CR;
    lines.bytes[valueEnd + 1] = LF;
    const end = valueEnd + LINE_END;
    lines.length = end;
    if (mask === 0x3f) this.table.insert(lines, start, colon, end, known, oddities);
    if (this.exceeds(end - start)) lines.length = start;
    else sink.field(lines, start, colon, end, known, oddities);
    return true;
  }

  /** Adds a string literal (RFC 7541 5.2) to `lines`. */
  private readString(buffer: Buffer, to: number, lines: FieldLines): boolean {
    if (this.at >= to) return false;
    const coded = (buffer[this.at] as number) >= 0x80;
    const length = this.readInteger(buffer, to, 0x7f);
    const from = this.at;
    if (length < 0 || length > to - from) return false;
    this.at = from + length;
    if (!coded) {
      lines.ensure(length);
      buffer.copy(lines.bytes, lines.length, from, this.at);
      lines.length += length;
      this.hasControl = hasControl(lines.bytes, lines.length - length, lines.length);
      return true;
    }
    lines.ensure(roomToDecode(length));
    const end = decodeHuffman(buffer, from, this.at, lines.bytes, lines.length);
    if (end < 0) return false;
    this.hasControl = (end & HAS_CONTROL) !== 0;
    lines.length = end & ~HAS_CONTROL;
    return true;
  }

  /** Counts a line. @returns whether the list has become too large for it. */
  private exceeds(lineBytes: number): boolean {
    this.listBytes += lineBytes - LINE_OVERHEAD + ENTRY_OVERHEAD;
    if (this.listBytes > this.maxBytes) this.tooLarge = true;
    return this.tooLarge;
  }
}

/** Whether RFC 9110 5.5 forbids one of the bytes in a field value. */
function hasControl(bytes: Buffer, from: number, to: number): boolean {
  let classes = FIELD_VALUE;
  for (let at = from; at < to; at++) classes &= CLASS[bytes[at] as number] as number;
  return classes === 0;
}

/** Whether a value begins or ends with white space (RFC 9113 8.2.1). */
function hasWhiteEdge(bytes: Buffer, from: number, to: number): boolean {
  if (from === to) return false;
  const first = bytes[from] as number;
  const last = bytes[to - 1] as number;
  return first === SP || first === HTAB || last === SP || last === HTAB;
}
