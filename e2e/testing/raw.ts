import { connect, type Socket } from 'node:net';
import { until } from '../../shared/runtime/testing/until.ts';

/** A client that writes exact bytes and keeps what it receives. */
export class RawClient {
  readonly socket: Socket;
  received = '';
  /** Whether the other side has ended or reset the connection. */
  ended = false;
  closed = false;

  private constructor(port: number) {
    this.socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.received += text;
    });
    this.socket.on('end', () => {
      this.ended = true;
    });
    this.socket.on('error', () => {
      this.ended = true;
    });
    this.socket.on('close', () => {
      this.ended = true;
      this.closed = true;
    });
  }

  static async open(port: number): Promise<RawClient> {
    const client = new RawClient(port);
    await new Promise((resolve, reject) => client.socket.once('connect', resolve).once('error', reject));
    return client;
  }

  write(text: string): this {
    this.socket.write(text, 'latin1');
    return this;
  }

  /** Waits until the received text matches. @returns it. */
  async sees(expected: string | RegExp, withinMs = 60_000): Promise<string> {
    await until(
      `${expected} in ${JSON.stringify(this.received.slice(0, 300))}`,
      () => (typeof expected === 'string' ? this.received.includes(expected) : expected.test(this.received)),
      withinMs,
    );
    return this.received;
  }

  /** Waits for the end of the connection. @returns everything received. */
  async toEnd(withinMs = 60_000): Promise<string> {
    await until('the connection to end', () => this.ended, withinMs);
    return this.received;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** Sends a text on a new connection and waits for its end. */
export async function exchange(port: number, text: string): Promise<string> {
  using client = await RawClient.open(port);
  return await client.write(text).toEnd();
}
