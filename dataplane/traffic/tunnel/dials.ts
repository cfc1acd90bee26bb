import type { Socket } from 'node:net';
import type { Exchange } from '../exchange.ts';
import type { Attempt } from '../upstream/attempt.ts';
import { connectTo } from '../upstream/connect.ts';
import type { Endpoint } from '../upstream/endpoint.ts';
import type { Failure } from '../upstream/failure.ts';
import { WaitingRoom } from '../upstream/waiting-room.ts';

/** Connections for tunnels to one target that may be on their way at a time; more requests wait. */
const MOST = 64;

export type DialTools = {
  /** A connection stands that is the exchange's alone. */
  stands(x: Exchange, endpoint: Endpoint, socket: Socket): void;
  /** There is none for the exchange; nothing was sent. */
  failed(x: Exchange, endpoint: Endpoint, failure: Failure): void;
};

/**
 * Opens the connections that tunnels to one target are made of. One whose request was called off is kept until it
 * stands: the next request takes it, so that visitors who come and go don't have one opened each.
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
    // Before it begins: it may fail at once, and then another attempt takes its place.
    dial.claim(x);
    const { endpoint } = this;
    connectTo(
      endpoint,
      endpoint.connectMsFor(x),
      { alpn: 'http/1.1', halfOpen: true },
      (socket) => this.stands(dial, socket),
      (failure) => this.failed(dial, failure),
    );
  }

  private abandoned(dial: Dial): void {
    const next = this.waiting.next();
    if (next === null) this.unclaimed.push(dial);
    else dial.claim(next);
  }

  private stands(dial: Dial, socket: Socket): void {
    const x = this.over(dial);
    if (x === null) socket.destroy();
    else this.tools.stands(x, this.endpoint, socket);
    const next = this.waiting.next();
    if (next !== null) this.begin(next);
  }

  /** Where one could not be opened the next one hardly can: who waits goes to another target, or is told. */
  private failed(dial: Dial, failure: Failure): void {
    const x = this.over(dial);
    if (x !== null) {
      x.attempt = null;
      this.tools.failed(x, this.endpoint, failure);
    }
    this.waiting.fail(failure);
  }

  private over(dial: Dial): Exchange | null {
    this.underWay--;
    const at = this.unclaimed.indexOf(dial);
    if (at >= 0) this.unclaimed.splice(at, 1);
    return dial.x;
  }
}

/** A connection on its way, and who waits for it; null where nobody does any more. */
class Dial implements Attempt {
  x: Exchange | null = null;
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
    // Nothing flows yet.
  }
}
