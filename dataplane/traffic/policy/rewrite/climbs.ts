/** Rounds of decoding that a path may go through at an upstream. */
const ROUNDS = 3;

/**
 * Whether a path has `..` as a segment for any server that reads it: with slashes, dots and backslashes decoded, and parameters and blanks
 * removed. A path that a client has helped to write must not lead out of the part that the site has written.
 */
export function climbs(path: string): boolean {
  if (!/%|\.\./.test(path)) return false;
  let read = path;
  for (let round = 0; round <= ROUNDS; round++) {
    if (read.split(/[/\\]/).some((segment) => segment.replace(/;.*$/s, () => '').trim() === '..')) return true;
    read = read.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  }
  return false;
}
