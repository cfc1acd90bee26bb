/** How an HTTP/2 client begins a connection. No HTTP/1.1 server accepts it as a request (RFC 9113 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Whether the bytes are the preface, a prefix of it, or begin with it. */
export function beginsHttp2(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, PREFACE.length);
  return bytes.compare(PREFACE, 0, length, 0, length) === 0;
}
