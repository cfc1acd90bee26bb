import type { ClientRequest } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Agent } from '../../../shared/runtime/http/node-http.ts';
import type { Attempt } from '../exchange/attempt.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { guarded } from '../exchange/faults.ts';
import { streamHasBacklog } from '../io/backlog.ts';
import { judge } from '../upstream/health/verdict.ts';
import type { Endpoint } from '../upstream/target/endpoint.ts';
import { limitsFor } from '../upstream/target/limits.ts';

/** How long a tunnel continues after its target has left the route (ms). */
const GRACE_MS = 30_000;
/** How long the target may take to receive the client's last bytes once the client has left (ms). */
const LAST_BYTES_MS = 60_000;
/** How long nothing may be delivered through a WebSocket of which one side has ended (ms). */
const HALF_CLOSED_MS = 60_000;
const SWITCHING = 101;

/** Provides the one connection that it was made for. */
class SingleConnectionAgent extends Agent {
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
  /** Its connection; null if it has only one stream of a connection. */
  readonly socket: Socket | null;
  /** That connection, or the stream. */
  readonly side: Duplex;
  /** Whether it has ended its side properly, so that the target gets all that it has sent. */
  hasEnded(): boolean;
  /** Ends the client's side after the data already sent has been delivered. */
  end(): void;
};

/** One upgraded connection, from the moment when the connection to its target is established. */
export class Tunnel implements Attempt {
  readonly x: Exchange;
  readonly endpoint: Endpoint;
  readonly client: TunnelClient;
  readonly upstream: Socket;
  readonly agent: Agent;
  /** The request to the target, once it is sent. */
  request: ClientRequest | null = null;
  /** Whether the target has accepted the upgrade and bytes are relayed unread. */
  open = false;
  /** Whether the target took too long to answer. */
  timedOut = false;
  /** Interim responses so far. */
  interim = 0;
  /** Cancels the time limit for the target's response. */
  private readonly cancelTimeout: () => void;
  /** Cancels the close that `closeLater` has scheduled; null while its target belongs to the route. */
  private cancelDelayedClose: (() => void) | null = null;
  /** Cancels the time limit for the side that has not ended; null while neither has. */
  private cancelRest: (() => void) | null = null;
  private over = false;
  private readonly ledgerSlot: number;

  constructor(x: Exchange, endpoint: Endpoint, client: TunnelClient, upstream: Socket) {
    this.x = x;
    this.endpoint = endpoint;
    this.client = client;
    this.upstream = upstream;
    this.agent = new SingleConnectionAgent(upstream);
    this.ledgerSlot = endpoint.begin();
    const { clock } = endpoint.tools;
    const { headMs, wholeMs } = limitsFor(x);
    const limitMs = Math.min(headMs, wholeMs);
    const expire = (): void => {
      this.timedOut = true;
      upstream.destroy();
    };
    this.cancelTimeout = limitMs === Number.POSITIVE_INFINITY ? () => undefined : clock.after(limitMs, expire);
  }

  /** The target has sent a response, of any kind. */
  answered(status: number): void {
    this.cancelTimeout();
    this.x.trace?.spans?.answered(status);
    judge(this.x, this.endpoint, status);
    this.endpoint.upgrades.answered();
  }

  /** `protocol` is the one that it switches to. */
  accepted(protocol: string): void {
    this.answered(SWITCHING);
    this.open = true;
    this.x.status = SWITCHING;
    if (protocol.toLowerCase() === 'websocket') this.limitRest();
  }

  /**
   * A WebSocket does not go on in one direction (RFC 6455 7.1.1): if the other side never ends, it is of no use to anyone. Other protocols
   * may wait for hours for the answer to what was sent, as `docker attach` does.
   */
  private limitRest(): void {
    const ended = guarded(this, () => {
      if (this.cancelRest === null && !this.over) this.awaitRest();
    });
    for (const side of [this.client.side, this.upstream]) {
      if (side.readableEnded) ended();
      else side.once('end', ended);
    }
  }

  private awaitRest(): void {
    const before = this.delivered;
    const expire = guarded(this, () => {
      if (this.delivered !== before) return this.awaitRest();
      const { socket, side } = this.client;
      this.close();
      // It would wait until the client has taken the rest.
      if (side.writableLength > 0) socket?.destroy();
    });
    this.cancelRest = this.endpoint.tools.clock.after(HALF_CLOSED_MS, expire);
  }

  /** Bytes that either side has taken, apart from a constant. */
  private get delivered(): number {
    const { upstream, client } = this;
    return upstream.bytesRead - client.side.writableLength + upstream.bytesWritten - upstream.writableLength;
  }

  /** Its target left the route: the tunnel is ended after a while. */
  closeLater(): void {
    this.cancelDelayedClose ??= this.endpoint.tools.clock.after(GRACE_MS, () => this.close());
  }

  /** Its target belongs to the route again. */
  cancelClose(): void {
    this.cancelDelayedClose?.();
    this.cancelDelayedClose = null;
  }

  /** Ends it if its target makes TLS send more and more, and reads none of that. */
  sweep(): void {
    if (streamHasBacklog(this.upstream)) this.upstream.destroy();
  }

  /** Ends both sides after the data already sent to the client has been delivered. */
  close(): void {
    this.upstream.destroy();
    this.client.end();
  }

  /** The client has disconnected, or has received the failure of the upgrade. */
  cancel(): void {
    if (this.over) return;
    this.over = true;
    this.cancelTimeout();
    this.cancelClose();
    this.cancelRest?.();
    if (this.open && this.client.hasEnded() && !this.upstream.writableFinished) return this.finish();
    this.upstream.destroy();
    this.endpoint.end(this.ledgerSlot);
  }

  /** The client has ended its side and left, but the target has not received everything yet. */
  private finish(): void {
    const { upstream, endpoint } = this;
    const stop = endpoint.tools.clock.after(LAST_BYTES_MS, () => upstream.destroy());
    const closed = (): void => {
      stop();
      endpoint.end(this.ledgerSlot);
    };
    if (upstream.destroyed) return closed();
    upstream.once('finish', () => upstream.destroy());
    upstream.once('close', closed);
  }

  /** An exception while it was set up or relayed ends both sides and the exchange. */
  onFault(error: unknown): void {
    const { faults } = this.endpoint.tools;
    this.x.client.onFault(error);
    faults.step(() => this.cancel());
    if (this.client.socket !== null) faults.step(() => this.client.end());
  }

  // Bytes are relayed from socket to socket, not through the exchange.

  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a request that asks for an upgrade has no body');
  }

  resume(): void {
    // The sockets apply backpressure to each other.
  }
}
