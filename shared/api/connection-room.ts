import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../runtime/clock.ts';

/** Idle connections are closed after this time (ms). */
const IDLE_MS = 10_000;
const SWEEP_MS = 1_000;

/**
 * Limits a listener's connections without locking out admitted clients. A connection without an admitted request (none
 * or half of one sent, no token, or waiting for the next) is closed after 10 seconds. If the listener is full, the one
 * that has been idle longest is closed at once in favor of a new one.
 */
export class ConnectionRoom {
  /** Connections without an admitted request, and since when (monotonic ms), longest idle first. */
  private readonly quiet = new Map<Socket, number>();
  /** The responses to the admitted requests in progress on a connection. */
  private readonly held = new Map<Socket, Set<ServerResponse>>();
  private readonly clock: Clock;
  private readonly most: number;
  /** Called when the last connection is closed; null until they drain. */
  private drained: (() => void) | null = null;

  /** Watches `server` until it is closed, with at most `most` open connections. */
  constructor(server: Server, clock: Clock, most: number) {
    this.clock = clock;
    this.most = most;
    server.on('connection', (socket: Socket) => this.enter(socket));
    for (const event of ['request', 'checkContinue'])
      server.on(event, ({ socket }: { readonly socket: Socket }) => {
        if (this.quiet.has(socket)) this.settle(socket);
      });
    const stop = clock.every(SWEEP_MS, () => this.sweep());
    server.once('close', stop);
  }

  /** Marks a request as admitted, which keeps its connection open until the response is finished. */
  hold(socket: Socket, response: ServerResponse): void {
    if (response.destroyed) return;
    this.quiet.delete(socket);
    const responses = this.held.get(socket) ?? new Set();
    this.held.set(socket, responses.add(response));
    response.once('close', () => {
      responses.delete(response);
      if (responses.size === 0 && this.held.delete(socket)) this.settle(socket);
    });
  }

  /** For a connection that continues as another socket, as it does beneath TLS, the underlying one counts. */
  become(socket: Socket, secured: Socket): void {
    if (this.quiet.delete(socket)) this.seat(secured);
  }

  /**
   * Closes every connection. Those with a request whose response has not begun, or is complete but not sent, are closed when it is sent, but
   * within `ms`. Streams are cut off.
   */
  async drain(ms: number): Promise<void> {
    for (const socket of this.quiet.keys()) socket.destroy();
    for (const [socket, responses] of this.held) if (![...responses].some(isAwaited)) socket.destroy();
    if (this.size > 0) {
      await new Promise<void>((resolve) => {
        this.drained = resolve;
        this.clock.after(ms, resolve);
      });
    }
    this.closeAll();
  }

  /** Closes every connection, including those with requests in progress. */
  closeAll(): void {
    for (const socket of [...this.quiet.keys(), ...this.held.keys()]) socket.destroy();
  }

  private get size(): number {
    return this.quiet.size + this.held.size;
  }

  private enter(socket: Socket): void {
    if (this.size >= this.most) {
      const [oldest] = this.quiet.keys();
      if (oldest === undefined) return void socket.destroy();
      this.close(oldest);
    }
    this.seat(socket);
  }

  private seat(socket: Socket): void {
    socket.once('close', () => {
      this.quiet.delete(socket);
      this.held.delete(socket);
      if (this.size === 0) this.drained?.();
    });
    this.settle(socket);
  }

  /** Marks a connection as idle from now on. */
  private settle(socket: Socket): void {
    if (socket.destroyed) return;
    if (this.drained !== null) socket.destroySoon();
    this.quiet.delete(socket);
    this.quiet.set(socket, this.clock.monotonic());
  }

  private sweep(): void {
    const before = this.clock.monotonic() - IDLE_MS;
    for (const [socket, since] of this.quiet) {
      if (since > before) return;
      this.close(socket);
    }
  }

  private close(socket: Socket): void {
    this.quiet.delete(socket);
    socket.destroy();
  }
}

/** A response that has not begun, or is complete but not sent. */
const isAwaited = (response: ServerResponse): boolean => !response.headersSent || response.writableEnded;
