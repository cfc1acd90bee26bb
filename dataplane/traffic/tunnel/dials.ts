import type { Socket } from 'node:net';
import type { Attempt } from '../exchange/attempt.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Failure } from '../exchange/failure.ts';
import { guarded, onBehalf } from '../exchange/faults.ts';
import { connectTo } from '../upstream/connect.ts';
import type { Endpoint } from '../upstream/endpoint.ts';
import { WaitingRoom } from '../upstream/waiting-room.ts';

/** Most connections for tunnels to one target that may be connecting at a time; further requests wait. */
const MOST = 64;

export type DialTools = {
  /** A connection for this exchange alone is established. */
  established(x: Exchange, endpoint: Endpoint, socket: Socket): void;
  /** No connection could be made for the exchange; nothing was sent. */
  failed(x: Exchange, endpoint: Endpoint, failure: Failure): void;
};

/**
 * Opens the connections for tunnels to one target. A connection whose request was cancelled is kept until it is
 * established: the next request takes it, so that visitors who come and go don't each open one.
 */
export class Dials {
  private readonly endpoint: Endpoint;
  private readonly tools: DialTools;
  private readonly waiting: WaitingRoom;
  private readonly unclaimed: Dial[] = [];
  private underWay = 0;

  constructor(endpoint: Endpoint, tools: DialTools) {
    this.endpoint = endpoint;
    this.tools = tools;
    this.waiting = new WaitingRoom(endpoint);
  }

  begin(x: Exchange): void {
    const unclaimed = this.unclaimed.pop();
    if (unclaimed !== undefined) return unclaimed.claim(x);
    if (this.underWay >= MOST) return this.waiting.enter(x);
    this.underWay++;
    const dial = new Dial((abandoned) => this.abandoned(abandoned));
    // Before connecting: it may fail at once, and then another attempt replaces it.
    dial.claim(x);
    try {
      this.open(dial, x);
    } catch (error) {
      this.over(dial);
      throw error;
    }
  }

  private open(dial: Dial, x: Exchange): void {
    const { endpoint } = this;
    const broke = (error: unknown): void => this.broke(dial, error);
    const established = (socket: Socket): void => {
      const lost = (error: unknown): void => {
        socket.destroy();
        broke(error);
      };
      guarded({ broke: lost }, () => this.established(dial, socket))();
    };
    const failed = guarded({ broke }, (failure: Failure) => this.failed(dial, failure));
    connectTo(endpoint, endpoint.connectMsFor(x), { alpn: 'http/1.1', halfOpen: true }, established, failed);
  }

  private abandoned(dial: Dial): void {
    const next = this.waiting.next();
    if (next === null) this.unclaimed.push(dial);
    else dial.claim(next);
  }

  /** An exception in its callbacks ends the connection and the exchange that waits for it. */
  private broke(dial: Dial, error: unknown): void {
    const { x } = dial;
    const { faults } = this.endpoint.tools;
    faults.step(() => this.over(dial));
    if (x !== null) x.client.broke(error);
    else faults.note('connection', error, { target: this.endpoint.address });
  }

  private established(dial: Dial, socket: Socket): void {
    const x = this.over(dial);
    if (x === null) socket.destroy();
    else this.tools.established(x, this.endpoint, socket);
    const next = this.waiting.next();
    if (next !== null) onBehalf(next, () => this.begin(next));
  }

  /** If one could not be opened, the next one would hardly succeed: waiting requests are retried elsewhere or fail. */
  private failed(dial: Dial, failure: Failure): void {
    const x = this.over(dial);
    if (x !== null) {
      x.attempt = null;
      this.tools.failed(x, this.endpoint, failure);
    }
    this.waiting.fail(failure);
  }

  /** It is no longer connecting and can't be cancelled. @returns the exchange that waits for it. */
  private over(dial: Dial): Exchange | null {
    const { x } = dial;
    if (dial.over) return null;
    dial.over = true;
    dial.x = null;
    this.underWay--;
    const at = this.unclaimed.indexOf(dial);
    if (at >= 0) this.unclaimed.splice(at, 1);
    return x;
  }
}

/** A connecting connection and the exchange that waits for it; null if none does any more. */
class Dial implements Attempt {
  x: Exchange | null = null;
  over = false;
  private readonly abandoned: (dial: Dial) => void;

  constructor(abandoned: (dial: Dial) => void) {
    this.abandoned = abandoned;
  }

  claim(x: Exchange): void {
    this.x = x;
    x.attempt = this;
  }

  cancel(): void {
    if (this.x === null) return;
    this.x = null;
    this.abandoned(this);
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
