import { RESPONSE_HEADER_BYTES } from '../../../../shared/upstreams/transport.ts';
import { AppendBuffer } from '../../io/append-buffer.ts';
import { CLASS, CR, FIELD_VALUE, HTAB, LF, SP, TOKEN } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';
import { faultOfPartialFields } from './partial-fields.ts';
import { NO_TRAILER, validateTrailers } from './trailers.ts';

/** The maximum size of a request's trailer section (bytes). */
export const MAX_TRAILERS = 8_192;
/** The same for a response: as large as a head. gRPC servers describe an error in one of its fields. */
const MAX_ANSWER_TRAILERS = RESPONSE_HEADER_BYTES.default;
/** The maximum size of one chunk's extensions, including semicolons (bytes). */
export const MAX_EXTENSIONS = 256;
/** 2^53-1 has 14 hexadecimal digits. */
const MAX_SIZE_DIGITS = 14;
/** Digits of a size that is read in one step. The number stays a small integer. */
const SHORT_SIZE_DIGITS = 7;
/** A piece of up to this many bytes is moved next to the one before it. A larger one is passed on by itself. */
const MOVED_PIECE = 4_096;

const SEMICOLON = 59;
const EQUALS = 61;
const QUOTE = 34;
const BACKSLASH = 92;

const STATE = { size: 0, extension: 1, quoted: 2, escaped: 3, sizeEnd: 4, data: 5, dataCr: 6, dataLf: 7, trailers: 8, space: 9 } as const;

/** Receives the decoded bytes. */
export interface ChunkSink {
  /** A piece of the body: `buffer[from, to)`. */
  bodyPiece(buffer: Buffer, from: number, to: number): void;
}

/**
 * Decodes the chunked coding (RFC 9112 7.1) however its bytes are split. It is strict: every line ends with CRLF, no white space around
 * sizes, extensions are validated and dropped, and trailers contain neither framing nor routing fields. In responses it accepts sizes
 * padded with spaces, up to the length that an extension may have.
 */
export class ChunkedDecoder {
  private readonly direction: 'request' | 'response';
  private readonly maxTrailers: number;
  done = false;
  fault: Fault | null = null;
  /** The trailer fields to forward, each with its CRLF. Empty until `done`. */
  trailers = '';
  /** Bytes of the last feed that were sizes, extensions, line ends and trailers. */
  framing = 0;
  private state: number = STATE.size;
  private size = 0;
  private digits = 0;
  private extensions = 0;
  private partial: Buffer | null = null;
  private gathering: AppendBuffer | null = null;
  /** Bytes of the trailer section that have been validated. */
  private validated = 0;

  constructor(direction: 'request' | 'response') {
    this.direction = direction;
    this.maxTrailers = direction === 'request' ? MAX_TRAILERS : MAX_ANSWER_TRAILERS;
  }

  reset(): void {
    this.done = false;
    this.fault = null;
    this.trailers = '';
    this.restartSize();
    this.partial = null;
    this.gathering = null;
    this.validated = 0;
  }

  /**
   * Reads `buffer[from, to)` and moves small pieces of the body together within it, so that the sink gets one piece however many there are.
   * @returns where it stopped: `to`, or right after the end of the body. Check `fault` and `done`.
   */
  feed(buffer: Buffer, from: number, to: number, sink: ChunkSink): number {
    let at = from;
    let pieceFrom = from;
    let pieceTo = from;
    let passed = 0;
    while (at < to && this.fault === null && !this.done) {
      if (this.state === STATE.data) {
        const end = Math.min(to, at + this.size);
        if (pieceTo > pieceFrom && end - at > MOVED_PIECE) {
          sink.bodyPiece(buffer, pieceFrom, pieceTo);
          pieceTo = pieceFrom;
        }
        if (pieceTo === pieceFrom) {
          pieceFrom = at;
          pieceTo = end;
        } else pieceTo = move(buffer, at, end, pieceTo);
        passed += end - at;
        this.size -= end - at;
        at = end;
        if (this.size === 0) at = this.endChunk(buffer, at, to);
      } else if (this.state === STATE.trailers) at = this.readTrailers(buffer, at, to);
      else if (this.state === STATE.size && this.digits === 0) at = this.beginChunk(buffer, at, to);
      else this.step(buffer[at++] as number);
    }
    this.framing = at - from - passed;
    if (pieceTo > pieceFrom) sink.bodyPiece(buffer, pieceFrom, pieceTo);
    return at;
  }

  /** Reads a whole size line if it has the usual form, or else only its first byte. @returns where it stopped. */
  private beginChunk(buffer: Buffer, from: number, to: number): number {
    const end = Math.min(to, from + SHORT_SIZE_DIGITS);
    let at = from;
    let size = 0;
    for (let digit = 0; at < end; at++) {
      digit = hexValue(buffer[at] as number);
      if (digit < 0) break;
      size = size * 16 + digit;
    }
    if (at > from && at + 1 < to && buffer[at] === CR && buffer[at + 1] === LF) {
      this.size = size;
      this.state = size === 0 ? STATE.trailers : STATE.data;
      return at + 2;
    }
    this.step(buffer[from] as number);
    return from + 1;
  }

  /** Reads the line end after a chunk's data if it has arrived. @returns where it stopped. */
  private endChunk(buffer: Buffer, at: number, to: number): number {
    if (at + 1 < to && buffer[at] === CR && buffer[at + 1] === LF) {
      this.restartSize();
      return at + 2;
    }
    this.state = STATE.dataCr;
    return at;
  }

  private step(byte: number): void {
    switch (this.state) {
      case STATE.size:
        return this.stepSize(byte);
      case STATE.space:
        return this.stepSpace(byte);
      case STATE.extension:
      case STATE.quoted:
      case STATE.escaped:
        return this.stepExtension(byte);
      case STATE.sizeEnd:
        if (byte !== LF) this.fault = FAULT.badChunk;
        else this.state = this.size === 0 ? STATE.trailers : STATE.data;
        return;
      case STATE.dataCr:
        if (byte === CR) this.state = STATE.dataLf;
        else this.fault = FAULT.badChunk;
        return;
      default:
        if (byte === LF) this.restartSize();
        else this.fault = FAULT.badChunk;
    }
  }

  private stepSize(byte: number): void {
    const digit = hexValue(byte);
    if (digit >= 0) {
      if (++this.digits > MAX_SIZE_DIGITS) this.fault = FAULT.badChunk;
      this.size = this.size * 16 + digit;
      if (this.size > Number.MAX_SAFE_INTEGER) this.fault = FAULT.badChunk;
    } else if (this.digits === 0) this.fault = FAULT.badChunk;
    else if (byte === CR) this.state = STATE.sizeEnd;
    else if (byte === SEMICOLON) {
      this.state = STATE.extension;
      this.extensions = 1;
      this.extensionPart = PART.nameStart;
    } else if (this.direction === 'response' && (byte === SP || byte === HTAB)) {
      this.state = STATE.space;
      this.extensions = 1;
    } else this.fault = FAULT.badChunk;
  }

  private stepSpace(byte: number): void {
    if (byte === CR) this.state = STATE.sizeEnd;
    else if (++this.extensions > MAX_EXTENSIONS) this.fault = FAULT.longExtensions;
    else if (byte === SEMICOLON) {
      this.state = STATE.extension;
      this.extensionPart = PART.nameStart;
    } else if (byte !== SP && byte !== HTAB) this.fault = FAULT.badChunk;
  }

  private extensionPart: number = 0;

  private stepExtension(byte: number): void {
    if (byte !== CR && ++this.extensions > MAX_EXTENSIONS) {
      this.fault = FAULT.longExtensions;
      return;
    }
    if (this.state === STATE.quoted) {
      if (byte === QUOTE) {
        this.state = STATE.extension;
        this.extensionPart = PART.afterQuoted;
      } else if (byte === BACKSLASH) this.state = STATE.escaped;
      else if (!isText(byte)) this.fault = FAULT.badChunk;
      return;
    }
    if (this.state === STATE.escaped) {
      if (isText(byte)) this.state = STATE.quoted;
      else this.fault = FAULT.badChunk;
      return;
    }
    const part = this.extensionPart;
    const token = ((CLASS[byte] as number) & TOKEN) !== 0;
    if (token && part !== PART.afterQuoted) this.extensionPart = part === PART.nameStart || part === PART.name ? PART.name : PART.value;
    else if (byte === EQUALS && part === PART.name) this.extensionPart = PART.valueStart;
    else if (byte === QUOTE && part === PART.valueStart) this.state = STATE.quoted;
    else if (part === PART.nameStart || part === PART.valueStart) this.fault = FAULT.badChunk;
    else if (byte === SEMICOLON) this.extensionPart = PART.nameStart;
    else if (byte === CR) this.state = STATE.sizeEnd;
    else this.fault = FAULT.badChunk;
  }

  /** Trailers are collected as a whole: they are few, and all must be validated before any is forwarded. */
  private readTrailers(buffer: Buffer, from: number, to: number): number {
    const { partial } = this;
    const before = partial?.length ?? 0;
    const piece = buffer.subarray(from, to);
    const section = partial === null ? piece : this.gathered().join(partial, piece);
    const end = endOfTrailers(section, Math.max(0, before - 3));
    if ((end < 0 ? section.length : end) > this.maxTrailers) this.fault = FAULT.longTrailers;
    else if (end >= 0) this.validate(section, end - 2, true);
    else if (this.gathered().shouldParse(section.length)) this.validatePartial(section);
    this.partial = end < 0 ? this.gathered().keep(section) : null;
    return end < 0 ? to : from + end - before;
  }

  private gathered(): AppendBuffer {
    this.gathering ??= new AppendBuffer();
    return this.gathering;
  }

  private validatePartial(section: Buffer): void {
    const linesEnd = section.lastIndexOf(LF) + 1;
    if (linesEnd > this.validated) this.validate(section, linesEnd, false);
    if (this.fault === null && faultyLine(section, linesEnd)) this.fault = FAULT.badTrailer;
  }

  /** Validates all complete lines, including earlier ones, because a line can be invalid only in combination with others. */
  private validate(section: Buffer, linesEnd: number, done: boolean): void {
    this.validated = linesEnd;
    const validated = validateTrailers(section, linesEnd);
    if (typeof validated !== 'string') this.fault = validated;
    else if (done) {
      this.trailers = validated;
      this.done = true;
    }
  }

  private restartSize(): void {
    this.state = STATE.size;
    this.size = 0;
    this.digits = 0;
  }
}

/** Moves `buffer[from, end)` down to `target`. @returns where the moved bytes end. */
function move(buffer: Buffer, from: number, end: number, target: number): number {
  let to = target;
  // For a few bytes, calling copyWithin costs more than a loop.
  if (end - from > 16) buffer.copyWithin(to, from, end);
  else for (let at = from; at < end; at++) buffer[to++] = buffer[at] as number;
  return target + end - from;
}

const PART = { nameStart: 0, name: 1, valueStart: 2, value: 3, afterQuoted: 4 } as const;

/** Whether the line that begins at `from` and has no end yet is invalid however it continues. */
const faultyLine = (section: Buffer, from: number): boolean =>
  faultOfPartialFields(section, from, section.length) !== null || NO_TRAILER.test(section.toString('latin1', from));

/** The index right after the empty line that ends the section, or -1. Bytes before `from` have been searched. */
function endOfTrailers(section: Buffer, from: number): number {
  if (section[0] === CR && section[1] === LF) return 2;
  const end = section.indexOf('\r\n\r\n', from);
  return end < 0 ? -1 : end + 4;
}

const isText = (byte: number): boolean => byte === HTAB || byte === SP || ((CLASS[byte] as number) & FIELD_VALUE) !== 0;

function hexValue(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const letter = byte | 0x20;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}
