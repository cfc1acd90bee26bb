import { Agent, type ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Attempt } from '../exchange/attempt.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Endpoint } from '../upstream/endpoint.ts';
import { limitsFor } from '../upstream/limits.ts';

/** How long a tunnel goes on when its target leaves the route (ms). */
const GRACE_MS = 30_000;

/** Hands out the one connection that it was made for. */
class LentConnection extends Agent {
  private readonly socket: Socket;

  constructor(socket: Socket) {
    super();
    this.socket = socket;
  }

  override createConnection(): Socket {
    return this.socket;
  }
}

export type TunnelClient = {
  /** Its connection; null where it has one stream of it. */
  readonly socket: Socket | null;
  /** Ends its side. What it has been sent still reaches it. */
  end(): void;
};

/** One upgraded connection, from the moment at which its target's connection stands. */
export class Tunnel implements Attempt {
  readonly x: Exchange;
  readonly endpoint: Endpoint;
  readonly client: TunnelClient;
  readonly upstream: Socket;
  readonly agent: Agent;
  /** What the target is asked, once it is. */
  request: ClientRequest | null = null;
  /** Whether the target has agreed, and bytes pass unread. */
  open = false;
  /** The target took too long to answer. */
  late = false;
  /** Interim answers so far. */
  interim = 0;
  /** Calls off the time limit of its target's answer. */
  private readonly inTime: () => void;
  /** Calls off its end; null while its target stands. */
  private reprieve: (() => void) | null = null;
  private over = false;
  private readonly ledgerSlot: number;

  constructor(x: Exchange, endpoint: Endpoint, client: TunnelClient, upstream: Socket) {
    this.x = x;
    this.endpoint = endpoint;
    this.client = client;
    this.upstream = upstream;
    this.agent = new LentConnection(upstream);
    this.ledgerSlot = endpoint.ledgerSlot;
    const { targets, slot, clock } = endpoint.tools;
    targets.begin(this.ledgerSlot, slot);
    const { headMs } = limitsFor(x);
    const expire = (): void => {
      this.late = true;
      upstream.destroy();
    };
    this.inTime = headMs === Number.POSITIVE_INFINITY ? () => undefined : clock.after(headMs, expire);
  }

  /** The target has answered, whatever it said. */
  answered(): void {
    this.inTime();
    this.endpoint.succeeded();
  }

  agreed(): void {
    this.answered();
    this.open = true;
    this.x.status = 101;
  }

  /** Its target left the route: it has a while to come to an end. */
  condemn(): void {
    this.reprieve ??= this.endpoint.tools.clock.after(GRACE_MS, () => this.close());
  }

  /** Its target is one of the route's, after all. */
  pardon(): void {
    this.reprieve?.();
    this.reprieve = null;
  }

  /** Ends both sides. What the client has been sent still reaches it. */
  close(): void {
    this.upstream.destroy();
    this.client.end();
  }

  /** The client is gone, or has been told that nothing came of it. */
  cancel(): void {
    if (this.over) return;
    this.over = true;
    this.inTime();
    this.pardon();
    this.upstream.destroy();
    this.endpoint.tools.targets.end(this.ledgerSlot, this.endpoint.tools.slot);
  }

  /** Something was thrown while it was made or passed on: both sides end, and its exchange. */
  broke(error: unknown): void {
    const { faults } = this.endpoint.tools;
    this.x.client.broke(error);
    faults.step(() => this.cancel());
    if (this.client.socket !== null) faults.step(() => this.client.end());
  }

  // Bytes pass from socket to socket, not through the exchange.

  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a request that asks for an upgrade has no body');
  }

  resume(): void {
    // The sockets hold each other back.
  }
}
