import { httpDate } from '../codec/date.ts';
import { withoutFields } from '../codec/http1/kept-lines.ts';
import type { Attempt } from '../exchange/attempt.ts';
import { type Exchange, UNTIL_CLOSE } from '../exchange/exchange.ts';
import { guard } from '../exchange/faults.ts';
import type { AnswerHead, BodySink, BodySource, BodyStage, Filter, StageMaker } from '../exchange/filter.ts';
import { beginAnswer, endAnswer, flushAnswer, relayBody } from '../exchange/relay.ts';
import type { Responder } from '../exchange/responder.ts';
import { POLICIES } from '../policy/order.ts';
import type { BlockKinds } from '../route/compile.ts';

/** How much a stage buffers before its source has to pause (bytes). */
const MAX_KEPT = 65_536;

/**
 * Test support: a filter that converts to upper case. Like a compressor, its stage passes bytes on in a later turn than it received them,
 * buffers a bounded number of them while the client does not read, and appends a text of its own at the end.
 */
export class Shouting implements Filter {
  readonly name = 'shouting';
  /** Stages that were created, that passed on an end, and that were cancelled. */
  begun = 0;
  ended = 0;
  cancelled = 0;
  private readonly word: string;

  constructor(word = '!') {
    this.word = word;
  }

  begin({ path }: { readonly path: string }, head: AnswerHead): StageMaker | null {
    if (path === '/quiet') return null;
    head.fields = `${withoutFields(head.fields, new Set(['etag']))}X-Shouted: yes\r\n`;
    head.length = UNTIL_CLOSE;
    if (head.status === 299) head.status = 202;
    return (next, source) => {
      this.begun++;
      return new ShoutingStage(this, this.word, next, source);
    };
  }
}

class ShoutingStage implements BodyStage {
  private readonly filter: Shouting;
  private readonly word: string;
  private readonly next: BodySink;
  private readonly source: BodySource;
  private kept: Buffer[] = [];
  private bytes = 0;
  private trailers: string | null = null;
  private blocked = false;
  /** Whether its source was told to pause. */
  private isFull = false;
  private armed = false;
  private over = false;

  constructor(filter: Shouting, word: string, next: BodySink, source: BodySource) {
    this.filter = filter;
    this.word = word;
    this.next = next;
    this.source = source;
  }

  onFault(error: unknown): void {
    this.source.onFault(error);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    const text = buffer.toString('latin1', from, to);
    if (text.includes('FAIL NOW')) throw new Error('a filter of the test fails');
    if (text.includes('FAIL LATER')) setImmediate(() => guard(this, this.fail));
    this.kept.push(Buffer.from(text.toUpperCase(), 'latin1'));
    this.bytes += to - from;
    this.arm();
    this.isFull ||= this.bytes >= MAX_KEPT;
    return !this.isFull;
  }

  private fail(): void {
    throw new Error('a filter of the test fails later');
  }

  flush(): void {
    // Its buffered bytes are sent in the next turn anyway.
  }

  end(trailers: string): void {
    this.trailers = trailers;
    this.arm();
  }

  abort(): void {
    this.next.abort();
  }

  resume(): void {
    this.blocked = false;
    this.arm();
  }

  cancel(): void {
    this.over = true;
    this.filter.cancelled++;
  }

  private arm(): void {
    if (this.armed || this.over) return;
    this.armed = true;
    setImmediate(() => guard(this, this.turn));
  }

  private turn(): void {
    this.armed = false;
    if (this.over || this.blocked) return;
    while (this.kept.length > 0 && !this.blocked) {
      const piece = this.kept.shift() as Buffer;
      this.bytes -= piece.length;
      this.blocked = !this.next.body(piece, 0, piece.length);
    }
    this.next.flush();
    if (this.kept.length > 0) return;
    if (this.trailers === null) {
      if (!this.isFull) return;
      this.isFull = false;
      this.source.resume();
      return;
    }
    const word = Buffer.from(this.word);
    this.next.body(word, 0, word.length);
    this.filter.ended++;
    this.over = true;
    this.next.end(this.trailers);
  }
}

/** Test support: a response of the proxy that is written at the client's pace, line by numbered line. */
export class CountingResponder implements Responder {
  /** Lines written so far in all responses. */
  written = 0;
  cancelled = 0;
  private readonly lines: number;

  constructor(lines: number) {
    this.lines = lines;
  }

  respond(x: Exchange): void {
    new CountingAnswer(this, this.lines, x).begin();
  }

  explain(): { readonly answeredBy: string; readonly words: string } {
    return { answeredBy: 'counting', words: `200 with ${this.lines} lines` };
  }
}

class CountingAnswer implements Attempt {
  private readonly responder: CountingResponder;
  private readonly x: Exchange;
  private left: number;
  private at = 0;

  constructor(responder: CountingResponder, lines: number, x: Exchange) {
    this.responder = responder;
    this.x = x;
    this.left = lines;
  }

  begin(): void {
    this.x.attempt = this;
    beginAnswer(this.x, 200, 'OK', `${httpDate()}Content-Type: text/plain\r\n`, UNTIL_CLOSE);
    if (this.x.method === 'HEAD') this.left = 0;
    this.resume();
  }

  resume(): void {
    const { x, responder } = this;
    let more = true;
    while (more && this.left > 0) {
      this.left--;
      responder.written++;
      const line = Buffer.from(lineOf(this.at++));
      more = relayBody(x, line, 0, line.length);
    }
    flushAnswer(x);
    if (this.left === 0) this.finish();
  }

  private finish(): void {
    if (this.x.attempt !== this) return;
    this.x.attempt = null;
    endAnswer(this.x, '');
  }

  cancel(): void {
    this.left = -1;
    this.responder.cancelled++;
  }

  body(): boolean {
    return true;
  }

  bodyEnd(): void {
    // The request itself is not needed.
  }
}

/** A line of `Counting`. */
export const lineOf = (at: number): string => `line ${at} ${'x'.repeat(100)}\n`;

/** Gives every block these filters, and replaces its responder by `responder` if there is one. */
export const everywhere = (filters: readonly Filter[], responder: Responder | null = null): BlockKinds => ({
  policies: POLICIES,
  filters: filters.map((filter) => () => filter),
  responders: responder === null ? [] : [() => responder],
});
