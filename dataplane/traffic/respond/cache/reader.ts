import { STATUS_CODES } from '../../../../shared/runtime/http/node-http.ts';
import { httpTime } from '../../codec/http-time.ts';
import { withoutFields } from '../../codec/http1/kept-lines.ts';
import { answer } from '../../exchange/answer.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import { type Exchange, SMALL_PIECE, UNTIL_CLOSE } from '../../exchange/exchange.ts';
import { guardExchange } from '../../exchange/faults.ts';
import type { InternalAnswer } from '../../exchange/internal-exchange.ts';
import {
  abortAnswer,
  beginAnswer,
  endAnswer,
  flushAnswer,
  readableLines,
  relayBody,
  type StoredHead,
  storedLines,
} from '../../exchange/relay.ts';
import type { Responder } from '../../exchange/responder.ts';
import type { CacheResult } from '../../protocol.ts';
import { cacheStatus } from './cache-status.ts';
import { matchesAny } from './conditions.ts';
import type { GrowingBody } from './growing-body.ts';
import { type CacheRequest, isPersonal } from './request.ts';
import type { CacheResponse } from './response.ts';
import { FIELDS_OF_BODY, LEFT_BEHIND, sendStored } from './send.ts';
import type { StoredResponse } from './stored.ts';

/** A client's request that the cache should answer. */
export type CacheLookup = {
  readonly x: Exchange;
  readonly request: CacheRequest;
  /** Why no stored response answers it (RFC 9211 2.2). */
  readonly why: 'uri-miss' | 'vary-miss' | 'stale' | 'request';
  /** Whether the whole response is requested for it if nothing is stored; otherwise it is forwarded as it is. */
  readonly fetches: boolean;
};

type Readable = { leave(reader: Reader): void; resume(reader: Reader): void; drop(reader: Reader): void };

/** A client that waits for a response in flight, or reads it. It takes the place of the client's attempt. */
export class Reader implements Attempt {
  readonly wanted: CacheLookup;
  readonly collapsed: boolean;
  /** Bytes of the body that have been passed on. */
  at = 0;
  cancelTimer: () => void = () => undefined;
  private readonly fill: Readable;
  private piece = 0;
  private begun = 0;
  /** Whether the client accepts nothing until it resumes. */
  private blocked = false;
  /** Whether it has been answered, or no longer waits. */
  over = false;

  constructor(wanted: CacheLookup, collapsed: boolean, fill: Readable) {
    this.wanted = wanted;
    this.collapsed = collapsed;
    this.fill = fill;
  }

  get x(): Exchange {
    return this.wanted.x;
  }

  /** Whether its sender may get another response than others. */
  get personal(): boolean {
    return isPersonal(this.wanted.request);
  }

  informational(status: number, reason: string, fields: string): void {
    guardExchange(this.x, () => {
      this.x.client.informational(status, reason, fields);
      this.x.client.flush();
    });
  }

  /** Sends the head. @returns whether that was the whole response. */
  begin(answer: InternalAnswer, head: StoredHead, response: CacheResponse, stored: 'stored' | ''): boolean {
    const { x, wanted } = this;
    const { request } = wanted;
    x.cached = this.collapsed ? 'collapsed' : stored === '' ? 'pass' : 'miss';
    const words = `; fwd=${wanted.why}; fwd-status=${answer.status}${stored === '' ? '' : '; stored'}${this.collapsed ? '; collapsed' : ''}`;
    let whole = false;
    guardExchange(x, () => {
      const lines = readableLines(x, storedLines(x, answer.status, answer.fields, head)) + cacheStatus(words);
      if (answer.status === 200 && isKnown(request, response)) {
        beginAnswer(x, 304, 'Not Modified', withoutFields(lines, FIELDS_OF_BODY), UNTIL_CLOSE, answer.affinityLine);
        whole = true;
      } else {
        beginAnswer(x, answer.status, STATUS_CODES[answer.status] ?? '', lines, answer.length, answer.affinityLine);
        whole = x.method === 'HEAD' || answer.status === 204 || answer.status === 304;
      }
      if (whole) {
        this.over = true;
        x.attempt = null;
        endAnswer(x, '');
      }
    });
    return whole;
  }

  /** Passes on the bytes that have arrived, as far as the client accepts them. */
  read(body: GrowingBody): void {
    guardExchange(this.x, () => {
      while (!this.over && !this.blocked && this.at < body.received) {
        const buffer = body.pieces[this.piece] as Buffer;
        const inside = this.at - this.begun;
        const to = Math.min(buffer.length, body.received - this.begun);
        this.at = this.begun + to;
        // A piece that has been read to its end may be dropped before the next one arrives.
        if (to === buffer.length) {
          this.begun = this.at;
          this.piece++;
        }
        this.blocked = true;
        if (relayBody(this.x, buffer, inside, to)) this.blocked = false;
      }
      if (body.complete && this.at === body.received) this.end(body.trailers);
    });
  }

  /** A piece of a response that is not stored. */
  pass(buffer: Buffer, from: number, to: number): boolean {
    let more = true;
    guardExchange(this.x, () => {
      if (to - from <= SMALL_PIECE) more = relayBody(this.x, buffer, from, to);
      // The upstream's buffer is reused when this returns, but the client may not have been sent all of it by then.
      else more = relayBody(this.x, Buffer.from(buffer.subarray(from, to)), 0, to - from);
    });
    return more;
  }

  flush(): void {
    if (this.x.status !== 0 && !this.over) guardExchange(this.x, () => flushAnswer(this.x));
  }

  end(trailers: string): void {
    if (this.over) return;
    this.over = true;
    this.fill.drop(this);
    endAnswer(this.x, trailers);
  }

  abort(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.x.failure = reason;
    abortAnswer(this.x);
  }

  /** Others need the memory of the response. */
  cut(): void {
    guardExchange(this.x, () => {
      this.abort(LEFT_BEHIND);
      this.fill.leave(this);
    });
  }

  /** The request for the response has been answered, or has failed. */
  attempted(request: Pick<Exchange, 'endpoint' | 'lastFailure'> | null, failure: string): void {
    this.x.endpoint = request?.endpoint ?? null;
    this.x.lastFailure = failure === '' ? null : (request?.lastFailure ?? null);
  }

  /** No upstream has answered. */
  fail(status: number, reason: string): void {
    const { x } = this;
    this.over = true;
    this.fill.drop(this);
    x.cached = 'pass';
    answer(x, { status, fields: status === 503 ? 'Retry-After: 1\r\n' : '', body: null, reason });
  }

  /** Responds with a stored response; `now` in ms since 1970. */
  serve(stored: StoredResponse, result: CacheResult, words: string, now: number): void {
    const { x, request } = this.wanted;
    x.cached = result;
    x.attempt = null;
    this.over = true;
    sendStored(x, stored, request, `Age: ${stored.age(now)}\r\n${cacheStatus(words)}`);
  }

  forward(upstream: Responder): void {
    this.over = true;
    this.x.cached = 'pass';
    upstream.respond(this.x);
  }

  /** Responds with an entry as if it had just arrived. */
  serveAgain(): void {
    this.over = true;
    this.fill.drop(this);
    this.x.requestPath.serve(this.x);
  }

  // Events of the client.

  body(): boolean {
    return true;
  }

  bodyEnd(): void {
    // The request has no body.
  }

  resume(): void {
    this.blocked = false;
    this.fill.resume(this);
  }

  cancel(): void {
    this.over = true;
    this.fill.leave(this);
  }
}

/** Whether the client already has exactly this response. */
function isKnown({ ifNoneMatch, ifModifiedSince }: CacheRequest, { etag, lastModified }: CacheResponse): boolean {
  if (ifNoneMatch !== null) return matchesAny(ifNoneMatch, etag);
  return ifModifiedSince !== null && lastModified !== null && lastModified <= httpTime(ifModifiedSince);
}
