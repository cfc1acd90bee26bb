import { CLASS, COLON, CR, FIELD_VALUE, HTAB, LF, SP, TOKEN } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';

/**
 * Validates the field lines in `buffer[from, to)`; the last one may be incomplete. Bytes that no continuation can make valid are
 * refused at once. Combinations of fields are checked by `Fields.scan` once all have arrived. `bareLineFeeds`: a line may end with LF
 * alone.
 */
export function faultOfPartialFields(buffer: Buffer, from: number, to: number, bareLineFeeds = false): Fault | null {
  let at = from;
  while (at < to) {
    const lineStart = at;
    let byte = buffer[at] as number;
    if (byte === CR) return at + 1 < to && buffer[at + 1] !== LF ? FAULT.bareLineEnd : null;
    while (at < to && ((CLASS[byte] as number) & TOKEN) !== 0) byte = buffer[++at] as number;
    if (at >= to) return null;
    if (byte !== COLON || at === lineStart) return nameFault(byte, at === lineStart);
    byte = buffer[++at] as number;
    while (at < to && ((CLASS[byte] as number) & FIELD_VALUE) !== 0) byte = buffer[++at] as number;
    if (at >= to) return null;
    if (byte === LF && bareLineFeeds) at++;
    else if (byte !== CR) return byte === LF ? FAULT.bareLineEnd : FAULT.badFieldValue;
    else if (at + 1 < to && buffer[at + 1] !== LF) return FAULT.bareLineEnd;
    else at += 2;
  }
  return null;
}

/** Why a line has no valid name. `byte` is the byte after the token, which may be empty. */
export function nameFault(byte: number, empty: boolean): Fault {
  if (empty && (byte === SP || byte === HTAB)) return FAULT.foldedLine;
  return byte === CR || byte === LF ? FAULT.bareLineEnd : FAULT.badFieldName;
}
