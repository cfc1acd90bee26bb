/** The window that a stream of Brotli declares in its first byte (RFC 7932 9.1; bytes): a decoder allocates as much for a large page. */
export function brotliWindow(first: number): number {
  return 2 ** bitsOf(first);
}

function bitsOf(first: number): number {
  if ((first & 1) === 0) return 16;
  const three = (first >> 1) & 7;
  if (three !== 0) return 17 + three;
  const more = (first >> 4) & 7;
  // 1 is reserved: a decoder rejects it.
  return more < 2 ? 17 : 8 + more;
}
