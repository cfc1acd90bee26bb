/** The end of a head: an empty line. */
const HEAD_END = Buffer.from('\r\n\r\n');
export const HEAD_END_LENGTH = HEAD_END.length;
const CR = 13;
const LF = 10;
/** The first bytes, where most heads end, are searched here: a native call takes 140 ns, and this takes 30 ns for 100 bytes. */
const MAX_SEARCHED_BYTES = 512;

/** Where the first empty line of `buffer` begins, at `from` or later; -1 if there is none. */
export function headEnd(buffer: Buffer, from: number): number {
  const to = Math.min(buffer.length, from + MAX_SEARCHED_BYTES);
  // Examines the last byte of each candidate, and skips those that can't match (Boyer-Moore-Horspool).
  for (let at = from + 3; at < to; ) {
    const byte = buffer[at];
    if (byte === LF) {
      if (buffer[at - 1] === CR && buffer[at - 2] === LF && buffer[at - 3] === CR) return at - 3;
      at += 2;
    } else at += byte === CR ? 1 : 4;
  }
  return to === buffer.length ? -1 : buffer.indexOf(HEAD_END, to - 3);
}
