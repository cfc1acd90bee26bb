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
  /** The number of admitted requests in progress on a connection. */
  private readonly held = new Map<Socket, number>();
  private readonly clock: Clock;
  private readonly most: number;

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
    this.held.set(socket, (this.held.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const left = (this.held.get(socket) ?? 0) - 1;
      if (left > 0) return void this.held.set(socket, left);
      if (this.held.delete(socket)) this.settle(socket);
    });
  }

  /** For a connection that continues as another socket, as it does beneath TLS, the underlying one counts. */
  become(socket: Socket, secured: Socket): void {
    if (this.quiet.delete(socket)) this.seat(secured);
  }

  /** Closes every connection, including those with requests in progress. */
  closeAll(): void {
    for (const socket of [...this.quiet.keys(), ...this.held.keys()]) socket.destroy();
  }

  private enter(socket: Socket): void {
    if (this.quiet.size + this.held.size >= this.most) {
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
    });
    this.settle(socket);
  }

  /** Marks a connection as idle from now on. */
  private settle(socket: Socket): void {
    if (socket.destroyed) return;
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
