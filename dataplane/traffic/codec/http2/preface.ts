/** What a client of HTTP/2 begins with; no server of HTTP/1.1 takes it for a request (RFC 9113 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Whether bytes are the preface, the beginning of it, or begin with it. */
export function beginsHttp2(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, PREFACE.length);
  return bytes.compare(PREFACE, 0, length, 0, length) === 0;
}
