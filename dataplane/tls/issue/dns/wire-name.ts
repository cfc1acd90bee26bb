/** A name in wire format, uncompressed and in lower case (RFC 1035 3.1). */
export function wireName(name: string): Buffer {
  const labels = name.toLowerCase().split('.').filter(Boolean);
  return Buffer.concat([...labels.map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label, 'latin1')])), Buffer.of(0)]);
}

const POINTER = 0xc0;

/** The offset after the name at `at`, which may end in a compression pointer (RFC 1035 4.1.4). @throws RangeError. */
export function skipName(message: Buffer, at: number): number {
  for (let next = at; ; ) {
    const length = message.readUInt8(next);
    if (length >= POINTER) return next + 2;
    if (length === 0) return next + 1;
    next += 1 + length;
  }
}
