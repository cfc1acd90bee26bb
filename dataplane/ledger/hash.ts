import { hash } from 'node:crypto';

/** A stable 64-bit key in two halves: `hash` selects the bucket, and `fingerprint` identifies the key within it. */
export type Key = { readonly hash: number; readonly fingerprint: number };

/** The same text gives the same key in every thread, process and version. The fingerprint is never 0, which marks a free slot. */
export function keyOf(text: string): Key {
  const digest = hash('sha256', text, 'buffer');
  return { hash: digest.readUInt32LE(0), fingerprint: digest.readInt32LE(4) || 1 };
}

/** Combines two keys without hashing text again; used on the request path. */
export function joinHashes(a: Key, b: Key): number {
  return (Math.imul(a.hash ^ ((b.hash << 13) | (b.hash >>> 19)), 0x9e3779b1) ^ (a.hash >>> 15)) >>> 0;
}

/** The same for their fingerprints; never 0, which marks a free slot. */
export function joinFingerprints(a: Key, b: Key): number {
  return (Math.imul(a.fingerprint ^ ((b.fingerprint << 7) | (b.fingerprint >>> 25)), 0x85ebca6b) ^ (b.fingerprint >>> 13)) | 0 || 1;
}
