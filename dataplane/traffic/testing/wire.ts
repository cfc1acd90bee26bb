import { connect, type Socket } from 'node:net';
import { ReceivedBytes } from './received-bytes.ts';

/** How long a test waits for an expected event (ms). */
export const PATIENCE_MS = 60_000;

export type Message = {
  /** The request line or the status line. */
  readonly line: string;
  /** The whole head as received, with its empty line. */
  readonly head: string;
  readonly body: string;
  /** Trailer lines as received, each with its CRLF. */
  readonly trailers: string;
};

/** Test support: either side of a raw connection. Bytes are kept until they are read. All text is Latin-1. */
export class Wire {
  readonly socket: Socket;
  /** The other side has ended its side. */
  ended = false;
  closed = false;
  /** The connection ended with an error, most likely a reset. */
  failed = false;
  /** Bytes received, read or not. */
  total = 0;
  private readonly received = new ReceivedBytes();
  private readonly waiters = new Set<() => void>();

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.total += chunk.length;
      this.received.add(chunk);
      this.wake();
    });
    socket.on('end', () => {
      this.ended = true;
      this.wake();
    });
    socket.on('error', () => {
      this.failed = true;
    });
    socket.on('close', () => {
      this.closed = true;
      this.wake();
    });
  }

  /** A client of a port on this machine. */
  static async to(port: number): Promise<Wire> {
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Wire(socket);
  }

  /** The bytes received and not read yet. */
  get unread(): string {
    return this.received.unread.toString('latin1');
  }

  send(text: string | Buffer): void {
    this.socket.write(typeof text === 'string' ? Buffer.from(text, 'latin1') : text);
  }

  /** Ends our side; still reads. */
  end(text = ''): void {
    this.socket.end(text, 'latin1');
  }

  reset(): void {
    this.socket.resetAndDestroy();
  }

  /** Waits for a condition that only bytes on this connection or its end can fulfil. */
  async until(what: string, met: () => boolean): Promise<void> {
    if (met()) return;
    await new Promise<void>((resolve, reject) => {
      const settle = () => {
        this.waiters.delete(look);
        clearTimeout(timer);
      };
      const look = () => {
        if (met()) {
          settle();
          resolve();
        } else if (this.closed) {
          settle();
          reject(new Error(`closed while waiting for ${what}; unread: ${JSON.stringify(this.unread.slice(0, 300))}`));
        }
      };
      const timer = setTimeout(() => {
        settle();
        reject(new Error(`waited for ${what}; unread: ${JSON.stringify(this.unread.slice(0, 300))}`));
      }, PATIENCE_MS);
      this.waiters.add(look);
      look();
    });
  }

  /** Reads up to and including the first `mark`. */
  async readThrough(mark: string): Promise<string> {
    let end = -1;
    // Where the mark may begin, as a number of bytes received: those before it have been searched.
    let from = 0;
    await this.until(JSON.stringify(mark), () => {
      const { unread } = this.received;
      const start = this.total - unread.length;
      const at = unread.indexOf(mark, Math.max(0, from - start), 'latin1');
      end = at < 0 ? -1 : at + mark.length;
      from = Math.max(start, this.total - mark.length + 1);
      return end >= 0;
    });
    return this.received.take(end);
  }

  async read(bytes: number): Promise<string> {
    await this.until(`${bytes} bytes`, () => this.received.unread.length >= bytes);
    return this.received.take(bytes);
  }

  /** Everything until the other side ends or the connection closes. */
  async readAll(): Promise<string> {
    await this.until('the end', () => this.ended || this.closed);
    return this.received.take(this.received.unread.length);
  }

  readHead(): Promise<string> {
    return this.readThrough('\r\n\r\n');
  }

  /** One request with its body, according to the framing in its head. */
  async readRequest(): Promise<Message> {
    const head = await this.readHead();
    return this.withBody(head, isChunked(head) ? null : (lengthOf(head) ?? 0));
  }

  /** One response with its body, according to the framing in its head. Interim responses count as responses too. */
  async readAnswer(method = 'GET'): Promise<Message> {
    const head = await this.readHead();
    const bodyless = method === 'HEAD' || /^HTTP\/1\.1 (1\d\d|204|304) /.test(head);
    return this.withBody(head, bodyless ? 0 : isChunked(head) ? null : (lengthOf(head) ?? UNTIL_END));
  }

  /** `length` null: chunked. */
  private async withBody(head: string, length: number | null): Promise<Message> {
    const line = head.slice(0, head.indexOf('\r\n'));
    if (length === null) return { line, head, ...(await this.readChunked()) };
    return { line, head, body: length === UNTIL_END ? await this.readAll() : await this.read(length), trailers: '' };
  }

  async readChunked(): Promise<{ body: string; trailers: string }> {
    let body = '';
    for (;;) {
      const size = Number.parseInt(await this.readThrough('\r\n'), 16);
      if (size === 0) break;
      body += await this.read(size);
      await this.read(2);
    }
    let trailers = '';
    for (;;) {
      const line = await this.readThrough('\r\n');
      if (line === '\r\n') return { body, trailers };
      trailers += line;
    }
  }

  private wake(): void {
    for (const waiter of [...this.waiters]) waiter();
  }
}

const UNTIL_END = -1;
const isChunked = (head: string): boolean => /\r\ntransfer-encoding: chunked\r\n/i.test(head);
const lengthOf = (head: string): number | undefined => {
  const found = /\r\ncontent-length: (\d+)\r\n/i.exec(head);
  return found === null ? undefined : Number(found[1]);
};

/** The value of a field in a head; null if it is missing. */
export function field(head: string, name: string): string | null {
  const values = head
    .split('\r\n')
    .slice(1)
    .filter((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}:`))
    .map((line) => line.slice(name.length + 1).trim());
  return values.length === 0 ? null : values.join(' | ');
}

/** The bytes that a refused connection receives before it is closed, which may happen while it is being established. */
export async function refusedConnection(port: number, text = ''): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, noDelay: true });
  let received = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    received += piece;
  });
  socket.on('error', () => socket.destroy());
  socket.write(text, 'latin1');
  await new Promise((resolve, reject) => {
    socket.once('close', resolve);
    socket.setTimeout(PATIENCE_MS, () => reject(new Error('the connection is still open')));
  });
  return received;
}
