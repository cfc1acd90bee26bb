import type { RoutesPublication } from '../protocol.ts';

/** A published route that nobody has asked for yet. */
export class PackedRoute {
  readonly domain: string;
  private readonly bytes: Buffer;
  private readonly from: number;
  private readonly to: number;

  constructor(domain: string, bytes: Buffer, from: number, to: number) {
    this.domain = domain;
    this.bytes = bytes;
    this.from = from;
    this.to = to;
  }

  json(): string {
    return this.bytes.toString('utf8', this.from, this.to);
  }
}

const HEADER = 6;

/**
 * Packs routes for all workers at once: per route the length of its domain (2 bytes), of its JSON (4),
 * and both. Shared memory, since a structured clone of 100,000 routes stops an event loop for 0.4 s.
 */
export function packRoutes(routes: Iterable<{ readonly domain: string; readonly json: string }>): {
  packed: SharedArrayBuffer | null;
  count: number;
} {
  let size = 0;
  let count = 0;
  for (const { domain, json } of routes) {
    size += HEADER + domain.length + Buffer.byteLength(json);
    count++;
  }
  if (count === 0) return { packed: null, count };
  const packed = new SharedArrayBuffer(size);
  const bytes = Buffer.from(packed);
  let at = 0;
  for (const { domain, json } of routes) {
    const jsonAt = at + HEADER + domain.length;
    bytes.write(domain, at + HEADER, 'latin1');
    const jsonLength = bytes.write(json, jsonAt);
    bytes.writeUInt16LE(domain.length, at);
    bytes.writeUInt32LE(jsonLength, at + 2);
    at = jsonAt + jsonLength;
  }
  return { packed, count };
}

/** The routes of a publication, one after the other; each holds on to the shared bytes until it is compiled. */
export function* readPacked(publication: RoutesPublication): Generator<PackedRoute> {
  if (publication.packed === null) return;
  const bytes = Buffer.from(publication.packed);
  let at = 0;
  for (let index = 0; index < publication.count; index++) {
    const domainLength = bytes.readUInt16LE(at);
    const jsonAt = at + HEADER + domainLength;
    const end = jsonAt + bytes.readUInt32LE(at + 2);
    const domain = bytes.toString('latin1', at + HEADER, jsonAt);
    yield new PackedRoute(domain, bytes, jsonAt, end);
    at = end;
  }
}
