import type { EntriesPublication } from '../protocol.ts';

/** A published entry (the route of a domain, the certificate of a name) that has not been used yet. */
export class PackedEntry {
  readonly domain: string;
  /** Those of its publication; its JSON is from `from` to before `to`. */
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
  /** Whether its domain is a wildcard that stands for several labels. */
  readonly severalLabels: boolean;

  constructor(domain: string, bytes: Buffer, from: number, to: number, severalLabels: boolean) {
    this.domain = domain;
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.severalLabels = severalLabels;
  }

  /** The length of its JSON (bytes). */
  get size(): number {
    return this.to - this.from;
  }

  json(): string {
    return this.bytes.toString('utf8', this.from, this.to);
  }
}

/** The entry of a domain or pattern, as JSON. `severalLabels`: the pattern is a wildcard that stands for several labels. */
export type RawEntry = { readonly domain: string; readonly json: string; readonly severalLabels?: boolean };

const HEADER = 6;
/** Added to the length of a domain, which has at most 253 characters. */
const SEVERAL_LABELS = 0x8000;

/**
 * Packs entries for all workers at once: per entry the length of its domain with a flag (2 bytes), the length of its JSON (4 bytes), and
 * both texts.
 * Uses shared memory, because a structured clone of 100,000 routes blocks an event loop for 0.4 s.
 */
export function packEntries(entries: Iterable<RawEntry>): {
  packed: SharedArrayBuffer | null;
  count: number;
} {
  let size = 0;
  let count = 0;
  for (const { domain, json } of entries) {
    size += HEADER + domain.length + Buffer.byteLength(json);
    count++;
  }
  if (count === 0) return { packed: null, count };
  const packed = new SharedArrayBuffer(size);
  const bytes = Buffer.from(packed);
  let at = 0;
  for (const { domain, json, severalLabels = false } of entries) {
    const jsonAt = at + HEADER + domain.length;
    bytes.write(domain, at + HEADER, 'latin1');
    const jsonLength = bytes.write(json, jsonAt);
    bytes.writeUInt16LE(domain.length + (severalLabels ? SEVERAL_LABELS : 0), at);
    bytes.writeUInt32LE(jsonLength, at + 2);
    at = jsonAt + jsonLength;
  }
  return { packed, count };
}

/** The entries of a publication in order. Each keeps a reference to the shared bytes until it is compiled. */
export function* readPacked(publication: EntriesPublication): Generator<PackedEntry> {
  if (publication.packed === null) return;
  const bytes = Buffer.from(publication.packed);
  let at = 0;
  for (let index = 0; index < publication.count; index++) {
    const first = bytes.readUInt16LE(at);
    const domainLength = first & ~SEVERAL_LABELS;
    const jsonAt = at + HEADER + domainLength;
    const end = jsonAt + bytes.readUInt32LE(at + 2);
    const domain = bytes.toString('latin1', at + HEADER, jsonAt);
    yield new PackedEntry(domain, bytes, jsonAt, end, (first & SEVERAL_LABELS) !== 0);
    at = end;
  }
}
