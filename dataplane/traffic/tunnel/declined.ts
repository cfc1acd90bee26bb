import type { IncomingMessage } from 'node:http';
import { fieldIn } from '../codec/http1/kept-lines.ts';
import type { ResponseHead } from '../codec/http1/response-head.ts';
import type { Attempt } from '../exchange/attempt.ts';
import { FAILURE, type Failure } from '../exchange/failure.ts';
import { guard } from '../exchange/faults.ts';
import { abortAnswer, endAnswer, flushAnswer, relayBody, relayHead } from '../exchange/relay.ts';
import { failedMidResponse } from '../upstream/health/verdict.ts';
import { limitsFor } from '../upstream/target/limits.ts';
import { UNREAD_MS } from '../upstream/target/waiting-room.ts';
import type { Tunnel } from './tunnel.ts';

/** How often to look whether it has to give way (ms). */
const LOOK_MS = 1_000;

/**
 * A response that declines an upgrade. It is sent to the client like any other response, at the client's
 * pace; only its trailers are dropped, which RFC 9110 6.5.1 allows. Both connections are closed after it.
 */
export class DeclinedUpgrade implements Attempt {
  private readonly tunnel: Tunnel;
  private readonly reply: IncomingMessage;
  private lastByteAt: number;
  private stopWatching: () => void = () => undefined;
  private stopLooking: () => void = () => undefined;
  private over = false;

  constructor(tunnel: Tunnel, reply: IncomingMessage) {
    this.tunnel = tunnel;
    this.reply = reply;
    this.lastByteAt = tunnel.endpoint.tools.clock.monotonic();
  }

  relay(head: ResponseHead): void {
    const { tunnel, reply } = this;
    const { x } = tunnel;
    const { fields } = head;
    x.client.reattach(x);
    x.attempt = this;
    this.stopLooking = tunnel.endpoint.tools.clock.every(LOOK_MS, () => guard(this, this.giveWay));
    relayHead(x, head);
    reply.on('data', (piece: Buffer) => guard(this, this.pass, piece));
    reply.once('end', () => guard(this, this.finish));
    reply.on('error', () => guard(this, this.fail, FAILURE.closed));
    if (!/^text\/event-stream\b/i.test(fieldIn(fields.kept, 'content-type') ?? '')) this.watch();
    flushAnswer(x);
  }

  private pass(piece: Buffer): void {
    if (this.over) return;
    const { clock } = this.tunnel.endpoint.tools;
    const { x } = this.tunnel;
    this.lastByteAt = clock.monotonic();
    if (!relayBody(x, piece, 0, piece.length)) this.reply.pause();
    flushAnswer(x);
  }

  private finish(): void {
    if (!this.close()) return;
    const { x } = this.tunnel;
    endAnswer(x, '');
  }

  private fail(failure: Failure): void {
    if (!this.close()) return;
    const { x, endpoint } = this.tunnel;
    failedMidResponse(x, endpoint, failure);
    abortAnswer(x);
  }

  onFault(error: unknown): void {
    this.tunnel.onFault(error);
  }

  /** If its client reads nothing, it gives way to requests that lack a place at the target, like any other response. */
  private giveWay(): void {
    if (this.reply.isPaused() && this.silence >= UNREAD_MS && this.tunnel.endpoint.lacksPlaces) this.fail(FAILURE.unread);
  }

  private get silence(): number {
    return this.tunnel.endpoint.tools.clock.monotonic() - this.lastByteAt;
  }

  /** The target's time limit is suspended while the client does not read. */
  private watch(): void {
    const { clock } = this.tunnel.endpoint.tools;
    const { bodyIdleMs } = limitsFor(this.tunnel.x);
    if (bodyIdleMs === Number.POSITIVE_INFINITY) return;
    const waits = this.reply.isPaused() ? bodyIdleMs : bodyIdleMs - this.silence;
    this.stopWatching = clock.after(waits, () => {
      if (!this.reply.isPaused() && this.silence >= bodyIdleMs) guard(this, this.fail, FAILURE.bodyTimeout);
      else this.watch();
    });
  }

  /** @returns whether it was still open. */
  private close(): boolean {
    if (this.over) return false;
    this.over = true;
    this.stopWatching();
    this.stopLooking();
    this.tunnel.x.attempt = null;
    this.tunnel.cancel();
    return true;
  }

  cancel(): void {
    this.close();
  }

  resume(): void {
    this.lastByteAt = this.tunnel.endpoint.tools.clock.monotonic();
    this.reply.resume();
  }

  body(): boolean {
    return false;
  }

  bodyEnd(): void {
    throw new Error('a request that asks for an upgrade has no body');
  }
}
