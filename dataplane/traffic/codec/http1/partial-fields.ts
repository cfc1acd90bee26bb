import { CLASS, COLON, CR, FIELD_VALUE, HTAB, LF, SP, TOKEN } from './chars.ts';
import { FAULT, type Fault } from './fault.ts';

/**
 * Looks at field lines of which the last need not be whole, `buffer[from, to)`: what no further byte can
 * mend is refused at once. What the fields say together is judged by `Fields.scan`, when all are there.
 * `bareLineFeeds`: a line may end with LF alone.
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

/** Why a line has no name: `byte` is what stands behind the token, which may be empty. */
export function nameFault(byte: number, empty: boolean): Fault {
  if (empty && (byte === SP || byte === HTAB)) return FAULT.foldedLine;
  return byte === CR || byte === LF ? FAULT.bareLineEnd : FAULT.badFieldName;
}
