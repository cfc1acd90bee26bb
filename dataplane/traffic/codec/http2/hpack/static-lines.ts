import { ByteStore } from './byte-store.ts';
import { STATIC_FIELDS, STATIC_NAMES } from './static-table.ts';

const LINES = STATIC_FIELDS.map(([name, value]) => `${name}: ${value}\r\n`);

/** The fields of the static table as HTTP/1.1 field lines, one after the other. */
export const STATIC_LINES = new ByteStore(LINES.join('').length);
STATIC_LINES.bytes.write(LINES.join(''), 'latin1');
/** By index: where the line begins and ends in STATIC_LINES, the length of its name, and the first index with that name. */
export const STATIC_START = new Uint16Array(STATIC_FIELDS.length + 1);
export const STATIC_END = new Uint16Array(STATIC_FIELDS.length + 1);
export const STATIC_NAME_LENGTH = new Uint8Array(STATIC_FIELDS.length + 1);
export const STATIC_KNOWN = new Uint8Array(STATIC_FIELDS.length + 1);

for (const [at, [name]] of STATIC_FIELDS.entries()) {
  const start = STATIC_END[at] as number;
  STATIC_START[at + 1] = start;
  STATIC_END[at + 1] = start + (LINES[at] ?? '').length;
  STATIC_NAME_LENGTH[at + 1] = name.length;
  STATIC_KNOWN[at + 1] = STATIC_NAMES.get(name) ?? 0;
}
