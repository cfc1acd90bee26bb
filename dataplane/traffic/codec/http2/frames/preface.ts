/** How an HTTP/2 client begins a connection. No HTTP/1.1 server accepts it as a request (RFC 9113 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/** Whether the bytes are the preface, a prefix of it, or begin with it. */
export function beginsHttp2(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, PREFACE.length);
  return bytes.compare(PREFACE, 0, length, 0, length) === 0;
}

/** Reads the preface of a client, wherever it was split. */
export class PrefaceReader {
  private read = 0;

  /** @returns where in `bytes` the frames begin; -1 if the connection does not begin with the preface. */
  skip(bytes: Buffer): number {
    if (this.read === PREFACE.length) return 0;
    const end = Math.min(bytes.length, PREFACE.length - this.read);
    if (PREFACE.compare(bytes, 0, end, this.read, this.read + end) !== 0) return -1;
    this.read += end;
    return end;
  }
}
