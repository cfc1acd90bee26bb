/** How many lengths are remembered. A power of two. */
const SLOTS = 256;
const lengths: number[] = new Array(SLOTS).fill(-1);
const ends: string[] = new Array(SLOTS).fill('');

/**
 * The end of most heads: Content-Length and the empty line. Many responses of a worker have the same lengths, so their ends are not joined
 * again; each connection would need more memory for its own.
 */
export function lengthEnd(length: number): string {
  const slot = length & (SLOTS - 1);
  if (lengths[slot] !== length) {
    lengths[slot] = length;
    ends[slot] = `Content-Length: ${length}\r\n\r\n`;
  }
  return ends[slot] as string;
}
