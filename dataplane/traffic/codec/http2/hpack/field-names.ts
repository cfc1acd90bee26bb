import { CLASS, COLON, TOKEN } from '../../http1/chars.ts';
import { STATIC_NAMES } from './static-table.ts';

/** 1 for the bytes of a token in lower case (RFC 9113 8.2.1). */
const LOWER_CASE_TOKEN = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  const upper = byte >= 0x41 && byte <= 0x5a;
  LOWER_CASE_TOKEN[byte] = ((CLASS[byte] as number) & TOKEN) !== 0 && !upper ? 1 : 0;
}

const SLOTS = 1024;
const SLOT_SHIFT = 22;
const hashStep = (hash: number, byte: number): number => Math.imul(hash ^ byte, 0x01000193);
const slotOf = (hash: number): number => hash >>> SLOT_SHIFT;

/** The names of the static table in one text, and where that of each index begins. */
const NAMES = Buffer.from([...STATIC_NAMES.keys()].join(''), 'latin1');
const NAME_START = new Uint16Array(Math.max(...STATIC_NAMES.values()) + 1);
let start = 0;
for (const [name, index] of STATIC_NAMES) {
  NAME_START[index] = start;
  start += name.length;
}
const NAME_LENGTH = new Uint8Array(NAME_START.length);
for (const [name, index] of STATIC_NAMES) NAME_LENGTH[index] = name.length;

/** The index of the name in each slot, or 0; and the seed of the hash. */
const { seed: SEED, indices: INDICES } = seedWithoutCollisions();

function seedWithoutCollisions(): { readonly seed: number; readonly indices: Uint8Array } {
  for (let seed = 1; ; seed++) {
    const indices = new Uint8Array(SLOTS);
    for (const [name, index] of STATIC_NAMES) indices[slotOf(Buffer.from(name).reduce(hashStep, seed))] = index;
    if (indices.filter((index) => index > 0).length === STATIC_NAMES.size) return { seed, indices };
  }
}

/** What `readName` returns for a name that is not a lower-case token. */
export const BAD_NAME = -1;

/**
 * Examines a field name. A colon before it, as pseudo-header fields have, is allowed.
 * @returns the first index of the static table with this name, 0 if there is none, or BAD_NAME if the rest is not a lower-case token
 * (RFC 9113 8.2.1).
 */
export function readName(bytes: Buffer, from: number, to: number): number {
  let at = from;
  let hash = SEED;
  if (bytes[at] === COLON && at < to) hash = hashStep(hash, bytes[at++] as number);
  if (at === to) return BAD_NAME;
  for (; at < to; at++) {
    const byte = bytes[at] as number;
    if (LOWER_CASE_TOKEN[byte] === 0) return BAD_NAME;
    hash = hashStep(hash, byte);
  }
  const index = INDICES[slotOf(hash)] as number;
  return index > 0 && isName(index, bytes, from, to) ? index : 0;
}

function isName(index: number, bytes: Buffer, from: number, to: number): boolean {
  if (NAME_LENGTH[index] !== to - from) return false;
  let expected = NAME_START[index] as number;
  for (let at = from; at < to; at++) if (NAMES[expected++] !== bytes[at]) return false;
  return true;
}
