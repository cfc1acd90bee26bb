import type { Socket } from 'node:net';
import type { Attempt } from '../exchange/attempt.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Failure } from '../exchange/failure.ts';
import { guardExchange, guarded } from '../exchange/faults.ts';
import { connectTo } from '../upstream/target/connect.ts';
import type { Endpoint } from '../upstream/target/endpoint.ts';
import { WaitingRoom } from '../upstream/target/waiting-room.ts';

/** The maximum number of tunnel connections to one target that may be connecting at a time; further requests wait. */
const MAX_CONNECTING = 64;

export type TunnelConnectionTools = {
  /** A connection for this exchange alone is established. */
  established(x: Exchange, endpoint: Endpoint, socket: Socket): void;
  /** No connection could be made for the exchange; nothing was sent. */
  failed(x: Exchange, endpoint: Endpoint, failure: Failure): void;
};

/**
 * Opens the connections for tunnels to one target. A connection whose request was cancelled is kept until it is
 * established: the next request takes it, so that visitors who come and go don't each open one.
 */
export class TunnelConnections {
  private readonly endpoint: Endpoint;
  private readonly tools: TunnelConnectionTools;
  private readonly waiting: WaitingRoom;
  private readonly unclaimed: PendingConnection[] = [];
  private underWay = 0;

  constructor(endpoint: Endpoint, tools: TunnelConnectionTools) {
    this.endpoint = endpoint;
    this.tools = tools;
    this.waiting = new WaitingRoom(endpoint);
  }

  begin(x: Exchange): void {
    const unclaimed = this.unclaimed.pop();
    if (unclaimed !== undefined) return unclaimed.claim(x);
    if (this.underWay >= MAX_CONNECTING) {
      x.trace?.spans?.waits('connection');
      return this.waiting.enter(x);
    }
    this.underWay++;
    const pending = new PendingConnection(this.endpoint, (abandoned) => this.abandoned(abandoned));
    // Before connecting: it may fail at once, and then another attempt replaces it.
    pending.claim(x);
    try {
      this.open(pending, x);
    } catch (error) {
      this.settle(pending);
      throw error;
    }
  }

  private open(pending: PendingConnection, x: Exchange): void {
    const { endpoint } = this;
    const onFault = (error: unknown): void => this.onFault(pending, error);
    const established = (socket: Socket): void => {
      const lost = (error: unknown): void => {
        socket.destroy();
        onFault(error);
      };
      guarded({ onFault: lost }, () => this.established(pending, socket))();
    };
    const failed = guarded({ onFault }, (failure: Failure) => this.failed(pending, failure));
    connectTo(endpoint, endpoint.connectMsFor(x), { alpn: 'http/1.1', halfOpen: true }, established, failed);
  }

  private abandoned(pending: PendingConnection): void {
    const next = this.waiting.next();
    if (next === null) this.unclaimed.push(pending);
    else pending.claim(next);
  }

  /** An exception in its callbacks ends the connection and the exchange that waits for it. */
  private onFault(pending: PendingConnection, error: unknown): void {
    const { x } = pending;
    const { faults } = this.endpoint.tools;
    faults.step(() => this.settle(pending));
    if (x !== null) x.client.onFault(error);
    else faults.note('connection', error, { target: this.endpoint.address });
  }

  private established(pending: PendingConnection, socket: Socket): void {
    const x = this.settle(pending);
    if (x === null) socket.destroy();
    else this.tools.established(x, this.endpoint, socket);
    const next = this.waiting.next();
    if (next !== null) guardExchange(next, () => this.begin(next));
  }

  /** If one could not be opened, the next one would probably fail too: waiting requests are retried elsewhere or fail. */
  private failed(pending: PendingConnection, failure: Failure): void {
    const x = this.settle(pending);
    if (x !== null) {
      x.attempt = null;
      this.tools.failed(x, this.endpoint, failure);
    }
    this.waiting.fail(failure);
  }

  /** It is no longer connecting and can't be cancelled. @returns the exchange that waits for it. */
  private settle(pending: PendingConnection): Exchange | null {
    const { x } = pending;
    if (pending.over) return null;
    pending.over = true;
    pending.unclaim();
    this.underWay--;
    const at = this.unclaimed.indexOf(pending);
    if (at >= 0) this.unclaimed.splice(at, 1);
    return x;
  }
}

/** A connection that is being opened, and the exchange that waits for it, which counts as in flight; null once none does. */
class PendingConnection implements Attempt {
  x: Exchange | null = null;
  over = false;
  private readonly endpoint: Endpoint;
  private ledgerSlot = 0;
  private readonly abandoned: (pending: PendingConnection) => void;

  constructor(endpoint: Endpoint, abandoned: (pending: PendingConnection) => void) {
    this.endpoint = endpoint;
    this.abandoned = abandoned;
  }

  claim(x: Exchange): void {
    this.x = x;
    this.ledgerSlot = this.endpoint.begin();
    x.attempt = this;
    x.trace?.spans?.waits('connect');
  }

  cancel(): void {
    if (this.x === null) return;
    this.unclaim();
    this.abandoned(this);
  }

  unclaim(): void {
    if (this.x !== null) this.endpoint.end(this.ledgerSlot);
    this.x = null;
  }

  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a request that asks for an upgrade has no body');
  }

  resume(): void {
    // No answer is being received yet.
  }
}
