import { createHash } from 'node:crypto';

/** 64 bits of a stable key in two halves: where to look, and how to know that it is there. */
export type Key = { readonly place: number; readonly tag: number };

/** The same text has the same key in every thread, process and version. The tag is never 0, which means "free". */
export function keyOf(text: string): Key {
  const digest = createHash('sha256').update(text).digest();
  return { place: digest.readUInt32LE(0), tag: digest.readInt32LE(4) || 1 };
}

/** Joins two keys into one without hashing text again; used on the request path. */
export function joinPlace(a: Key, b: Key): number {
  return (Math.imul(a.place ^ ((b.place << 13) | (b.place >>> 19)), 0x9e3779b1) ^ (a.place >>> 15)) >>> 0;
}

export function joinTag(a: Key, b: Key): number {
  return (Math.imul(a.tag ^ ((b.tag << 7) | (b.tag >>> 25)), 0x85ebca6b) ^ (b.tag >>> 13)) | 0 || 1;
}
