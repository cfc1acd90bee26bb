import type { Socket } from 'node:net';
import { type Faults, guard } from '../exchange/faults.ts';
import type { IdleClose } from '../protocol.ts';
import { type ProxiedClient, type ProxyReading, readProxyHeader } from './proxy-protocol.ts';

/** Time limit for the PROXY header (ms). */
const HEADER_MS = 5_000;

export type ProxyHeaderTools = {
  monotonic(): number;
  readonly faults: Faults;
  /** The header has been read and the bytes after it put back; `client` null: the connection's own end. */
  done(header: ProxyHeaderReader, client: ProxiedClient | null): void;
  /** The header is missing, malformed or late. The socket is closed. */
  refused(header: ProxyHeaderReader, reason: string): void;
  /** The connection ended before its header was complete, which is not an error. */
  gone(header: ProxyHeaderReader): void;
};

/** A connection whose PROXY header has not been read yet. */
export class ProxyHeaderReader {
  private readonly socket: Socket;
  private readonly tools: ProxyHeaderTools;
  private readonly deadline: number;
  private gathered: Buffer | null = null;

  constructor(socket: Socket, tools: ProxyHeaderTools) {
    this.socket = socket;
    this.tools = tools;
    this.deadline = tools.monotonic() + HEADER_MS;
    socket.on('data', this.read);
    socket.on('end', this.ended);
    socket.on('error', this.ended);
    socket.on('close', this.closed);
    socket.resume();
  }

  sweep(now: number): void {
    if (now >= this.deadline) this.refuse('it did not arrive within 5 s');
  }

  /** The worker shuts down: a connection that has sent nothing yet is an idle one. */
  drain(idleClose: IdleClose): void {
    if (this.gathered === null && idleClose === 'now') this.socket.destroy();
  }

  private readonly read = (chunk: Buffer): void => guard(this, this.receive, chunk);

  private receive(chunk: Buffer): void {
    const bytes = this.gathered === null ? chunk : Buffer.concat([this.gathered, chunk]);
    this.gathered = bytes;
    const reading = readProxyHeader(bytes);
    if (reading.kind === 'malformed') this.refuse(reading.reason);
    else if (reading.kind === 'header') this.passOn(bytes, reading);
  }

  private passOn(bytes: Buffer, { length, client }: ProxyReading & { kind: 'header' }): void {
    const { socket } = this;
    // Paused, so that the bytes put back and those that follow wait until the next reader begins.
    socket.pause();
    this.release();
    if (length < bytes.length) socket.unshift(bytes.subarray(length));
    this.tools.done(this, client);
  }

  private refuse(reason: string): void {
    this.release();
    this.tools.refused(this, reason);
    this.socket.resetAndDestroy();
  }

  private readonly ended = (): void => {
    this.socket.destroy();
  };

  private readonly closed = (): void => guard(this, this.leave);

  private leave(): void {
    this.tools.gone(this);
  }

  onFault(error: unknown): void {
    const { socket, tools } = this;
    tools.faults.note('connection', error);
    if (socket.destroyed) tools.faults.step(() => tools.gone(this));
    else tools.faults.step(() => socket.resetAndDestroy());
  }

  private release(): void {
    this.socket.off('data', this.read);
    this.socket.off('end', this.ended);
    this.socket.off('error', this.ended);
    this.socket.off('close', this.closed);
  }
}
