import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../runtime/clock.ts';

/** A connection on which nothing is under way for this long (ms) is closed. */
const IDLE_MS = 10_000;
const SWEEP_MS = 1_000;

/**
 * Keeps a listener's room for those who are served. A connection that has no admitted request under way, be it that
 * it never sent one, sent half of one, had no token or waits for its next, is closed after 10 seconds, and before that
 * when the listener is full: then the one that has been quiet longest gives way to the new one.
 */
export class ConnectionRoom {
  /** Connections without an admitted request, and since when (monotonic ms): the quietest first. */
  private readonly quiet = new Map<Socket, number>();
  /** Admitted requests under way on a connection. */
  private readonly held = new Map<Socket, number>();
  private readonly clock: Clock;
  private readonly most: number;

  /** Watches `server` until it is closed. At most `most` connections stay open. */
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

  /** A request has been admitted: its connection stays for as long as its answer is under way. */
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

  private enter(socket: Socket): void {
    if (this.quiet.size + this.held.size >= this.most) {
      const [oldest] = this.quiet.keys();
      if (oldest === undefined) return void socket.destroy();
      this.close(oldest);
    }
    socket.once('close', () => {
      this.quiet.delete(socket);
      this.held.delete(socket);
    });
    this.settle(socket);
  }

  /** Puts a connection at the end of those that wait. */
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
