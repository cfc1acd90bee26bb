import type { Socket } from 'node:net';
import type { Clock } from '../../shared/runtime/clock.ts';

/** A longer line (bytes) is not part of the protocol. */
const MAX_LINE_LENGTH = 1_048_576;

/** The other side disconnected, sent an unexpected message or timed out. */
export class ChannelError extends Error {}

/** JSON messages in both directions, one per line. Each is an object whose single member names the message. */
export class Channel {
  private readonly socket: Socket;
  private readonly clock: Clock;
  private readonly inbox: Record<string, unknown>[] = [];
  private partial = '';
  private wake: () => void = () => undefined;
  private isClosed = false;

  constructor(socket: Socket, clock: Clock) {
    this.socket = socket;
    this.clock = clock;
    socket.setEncoding('utf8').on('data', (text: string) => this.read(text));
    // The close event that follows is enough.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.isClosed = true;
      this.wake();
    });
  }

  get closed(): boolean {
    return this.isClosed;
  }

  send(name: string, value: object): void {
    this.socket.write(`${JSON.stringify({ [name]: value })}\n`);
  }

  /** Resolves when everything was sent or the other side is gone. */
  end(): Promise<void> {
    return new Promise((resolve) => this.socket.end(resolve));
  }

  destroy(): void {
    this.socket.destroy();
  }

  /** The next message. @throws ChannelError. */
  async next(withinMs: number): Promise<{ readonly name: string; readonly value: unknown }> {
    await this.waitForMessage(withinMs);
    const message = this.inbox.shift();
    if (message === undefined) throw new ChannelError(this.isClosed ? 'the other process is gone' : 'the other process does not answer');
    const [[name, value] = ['', undefined]] = Object.entries(message);
    return { name, value };
  }

  /** The next message, which must have this name. @throws ChannelError, with the other side's reason if it refuses. */
  async expect(expected: string, withinMs: number): Promise<unknown> {
    const { name, value } = await this.next(withinMs);
    if (name === expected) return value;
    throw new ChannelError(name === 'refused' ? String((value as { reason?: unknown }).reason) : `expected ${expected}, got ${name}`);
  }

  private waitForMessage(withinMs: number): Promise<void> {
    if (this.inbox.length > 0 || this.isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.clock.after(withinMs, resolve);
      this.wake = () => {
        cancel();
        resolve();
      };
    });
  }

  private read(text: string): void {
    this.partial += text;
    const lines = this.partial.split('\n');
    this.partial = lines.pop() ?? '';
    for (const line of lines) this.parse(line);
    if (this.partial.length > MAX_LINE_LENGTH) this.socket.destroy();
    this.wake();
  }

  private parse(line: string): void {
    try {
      const message: unknown = JSON.parse(line);
      if (typeof message === 'object' && message !== null) this.inbox.push(message as Record<string, unknown>);
    } catch {
      // Not part of the protocol.
      this.socket.destroy();
    }
  }
}
