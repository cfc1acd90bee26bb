import { STATUS_CODES } from '../../../../shared/runtime/http/node-http.ts';
import { httpTime } from '../../codec/http-time.ts';
import { withoutFields } from '../../codec/http1/kept-lines.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import { type Exchange, UNTIL_CLOSE } from '../../exchange/exchange.ts';
import { guardExchange } from '../../exchange/faults.ts';
import { abortAnswer, beginAnswer, endAnswer, readableLines, relayBody } from '../../exchange/relay.ts';
import { matchesAny, type Range, rangeOf } from './conditions.ts';
import type { CacheRequest } from './request.ts';
import type { StoredResponse } from './stored.ts';
import type { BodyUser, StoredBody } from './stored-bodies.ts';

export const LEFT_BEHIND = 'the client read too slowly: others needed the memory of the response';
/** Larger bodies go to the client in pieces of this size (bytes). */
const PIECE = 262_144;
/** Fields about a stored body, which neither a 304 (RFC 9110 15.4.5) nor a 416 has. */
export const FIELDS_OF_BODY: ReadonlySet<string> = new Set(['content-type', 'content-encoding', 'content-language', 'content-range']);

/** Answers from a stored response: all of it, a range, or 304. `added` are lines that the proxy adds. */
export function sendStored(x: Exchange, stored: StoredResponse, request: CacheRequest, added: string): void {
  const { entry } = stored;
  x.contentType = stored.contentType;
  const lines = readableLines(x, stored.linesOf(x)) + added;
  if (entry.status === 200 && notModified(stored, request)) {
    beginAnswer(x, 304, 'Not Modified', withoutFields(lines, FIELDS_OF_BODY), UNTIL_CLOSE);
    return endAnswer(x, '');
  }
  const range = entry.status === 200 && x.method === 'GET' && request.range !== null ? rangeOf(stored, request) : null;
  if (range !== null) return sendRange(x, stored, range, lines);
  beginAnswer(x, entry.status, STATUS_CODES[entry.status] ?? '', lines, entry.length);
  if (x.method === 'HEAD' || entry.length === 0 || entry.status === 204) return endAnswer(x, '');
  new Sending(x, stored, 0, entry.length).resume();
}

/** RFC 9110 13.2.2: If-Modified-Since counts only without If-None-Match. */
function notModified({ entry, lastModified }: StoredResponse, { ifNoneMatch, ifModifiedSince }: CacheRequest): boolean {
  if (ifNoneMatch !== null) return matchesAny(ifNoneMatch, entry.etag);
  if (ifModifiedSince === null || Number.isNaN(lastModified)) return false;
  return ifModifiedSince === entry.lastModified || lastModified <= httpTime(ifModifiedSince);
}

function sendRange(x: Exchange, stored: StoredResponse, range: Range, lines: string): void {
  const { entry } = stored;
  if (range === 'unsatisfiable') {
    beginAnswer(x, 416, 'Range Not Satisfiable', `${withoutFields(lines, FIELDS_OF_BODY)}Content-Range: bytes */${entry.length}\r\n`, 0);
    return endAnswer(x, '');
  }
  const { from, to } = range;
  beginAnswer(x, 206, 'Partial Content', `${lines}Content-Range: bytes ${from}-${to - 1}/${entry.length}\r\n`, to - from);
  new Sending(x, stored, from, to).resume();
}

/** A body on its way to a client, at the client's pace. */
class Sending implements Attempt, BodyUser {
  private readonly x: Exchange;
  private readonly stored: StoredBody;
  private readonly pieces: readonly Buffer[];
  private readonly end: number;
  /** Bytes that have been passed on, counted from the beginning of the first piece; where that piece is in the list, and begins. */
  private at: number;
  private piece = 0;
  private begin = 0;
  private over = false;

  constructor(x: Exchange, { pieces, body }: StoredResponse, from: number, to: number) {
    this.x = x;
    this.stored = body;
    this.pieces = pieces;
    this.at = from;
    this.end = to;
    x.attempt = this;
  }

  resume(): void {
    while (!this.over && this.at < this.end) {
      const buffer = this.pieces[this.piece] as Buffer;
      const inside = this.at - this.begin;
      if (inside >= buffer.length) {
        this.begin += buffer.length;
        this.piece++;
        continue;
      }
      const to = Math.min(buffer.length, inside + PIECE, this.end - this.begin);
      this.at = this.begin + to;
      if (!relayBody(this.x, buffer, inside, to) && this.at < this.end) return this.wait();
    }
    if (this.over) return;
    this.cancel();
    this.x.attempt = null;
    endAnswer(this.x, '');
  }

  body(): boolean {
    return true;
  }

  bodyEnd(): void {
    // The request has no body.
  }

  cancel(): void {
    this.over = true;
    this.stored.leave(this);
  }

  private wait(): void {
    if (!this.over) this.stored.use(this);
  }

  cut(): void {
    const { x } = this;
    this.cancel();
    guardExchange(x, () => {
      x.attempt = null;
      x.failure = LEFT_BEHIND;
      abortAnswer(x);
    });
  }
}
