import { inOnePiece } from '../one-piece.ts';

/** Values from messages longer than this (bytes) are not remembered, because an idle connection would keep them in memory. */
const MAX_REMEMBERED = 2_048;

/**
 * The value of a field that most messages of a connection repeat, such as Host. It remains the same string from message to message, so it
 * is neither made again nor, where it is looked up, hashed again.
 */
export class RepeatedValue {
  private last = '';
  private isPart = false;

  /** `raw.slice(from, to)`, with `raw` in Latin-1. */
  find(raw: string, from: number, to: number): string {
    // V8 compares whole strings much faster than a string with a part of another.
    const value = raw.slice(from, to);
    if (value === this.last) return this.again();
    if (raw.length > MAX_REMEMBERED) return value;
    this.last = value;
    this.isPart = true;
    return value;
  }

  private again(): string {
    // A part of a string keeps all of it in memory. Many connections send only one message, so the first does not pay for the copy.
    if (this.isPart) this.last = inOnePiece(this.last);
    this.isPart = false;
    return this.last;
  }
}
