/** A 32-bit hash of a text: FNV-1a, whose bits are then mixed. It is not keyed: clients can find texts with equal hashes. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return finalized(hash);
}

/** A hash of two hashes, from 0 to 2^32 - 1. */
export const mixed = (a: number, b: number): number => finalized(Math.imul(a, 0x9e3779b1) ^ b);

/** The finalizer of MurmurHash3: every bit of the input affects every bit of the result. */
function finalized(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
