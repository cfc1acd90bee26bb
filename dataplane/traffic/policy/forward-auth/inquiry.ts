import { withoutFields } from '../../codec/http1/kept-lines.ts';
import type { Attempt } from '../../exchange/attempt.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import {
  type AnswerSink,
  type InternalAnswer,
  InternalExchange,
  type InternalRequest,
  type InternalTools,
} from '../../exchange/internal-exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import type { Responder } from '../../exchange/responder.ts';
import { type CopiedFields, cookieLines } from './fields.ts';

/** The longest body of a rejection (bytes): a login page. */
const MAX_BODY = 1_048_576;
/** The body of an approval is read up to this length (bytes), so that the connection can be used again. */
const MAX_DISCARDED = 65_536;

/** How the answer of the authentication server is used. */
export type InquiryUse = {
  readonly copied: CopiedFields;
  /** Whether its cookies go to the client even if its response does not. */
  readonly passesCookies: boolean;
  /** Instead of a rejection with this status; null to pass it on. */
  redirectFor(status: number): OwnAnswer | null;
};

/** null: the request is allowed. */
type Verdict = OwnAnswer | null;

/**
 * One request to the authentication server, which takes the place of the client's attempt: when the client leaves, the request is
 * cancelled.
 */
export class Inquiry implements AnswerSink, Attempt {
  private readonly x: Exchange;
  private readonly use: InquiryUse;
  private readonly exchange: InternalExchange;
  private verdict: Verdict | undefined;
  private decided: ((verdict: Verdict) => void) | null = null;
  private rejection: InternalAnswer | null = null;
  private readonly pieces: Buffer[] = [];
  private bytes = 0;

  constructor(x: Exchange, request: InternalRequest, server: Responder, use: InquiryUse, tools: InternalTools) {
    this.x = x;
    this.use = use;
    this.exchange = new InternalExchange(request, this, server, tools);
  }

  /** @returns the verdict if there is one at once; otherwise undefined, and `decided` is called with it in a later turn. */
  start(decided: (verdict: Verdict) => void): Verdict | undefined {
    this.x.attempt = this;
    this.exchange.start();
    if (this.verdict === undefined) this.decided = decided;
    return this.verdict;
  }

  // Events of the authentication server's response.

  head(answer: InternalAnswer): void {
    const { status, fields, failure } = answer;
    if (failure !== '') return this.decide(unavailable(status === 504 ? 504 : 502, failure));
    const approves = status >= 200 && status <= 299;
    const redirect = approves ? null : this.use.redirectFor(status);
    if (!approves && redirect === null) {
      this.rejection = answer;
      return;
    }
    this.x.authCookies = this.use.passesCookies ? cookieLines(fields) : '';
    if (redirect !== null) return this.decide(redirect);
    this.x.upstreamFields = this.use.copied.withoutForged(this.x.upstreamFields) + this.use.copied.linesFrom(fields);
    this.decide(null);
  }

  body(buffer: Buffer, from: number, to: number): boolean {
    this.bytes += to - from;
    const { rejection } = this;
    if (rejection === null) {
      if (this.bytes > MAX_DISCARDED) this.exchange.cancel();
    } else if (this.bytes > MAX_BODY) {
      this.exchange.cancel();
      this.decide(unavailable(502, `its response has more than ${MAX_BODY} bytes`));
    } else this.pieces.push(Buffer.from(buffer.subarray(from, to)));
    return true;
  }

  end(): void {
    const { rejection } = this;
    if (rejection !== null) this.decide(passedOn(rejection, Buffer.concat(this.pieces)));
  }

  failed(reason: string): void {
    // Nothing more is needed of an approval.
    if (this.verdict === undefined) this.decide(unavailable(502, reason));
  }

  // Events of the client meanwhile.

  bodyEnd(): void {
    throw new Error('the body of a request is not read before its policies have decided');
  }

  resume(): void {
    // Nothing has been sent yet.
  }

  cancel(): void {
    this.exchange.cancel();
  }

  private decide(verdict: Verdict): void {
    if (this.verdict !== undefined) return;
    this.verdict = verdict;
    if (this.x.attempt === this) this.x.attempt = null;
    this.decided?.(verdict);
  }
}

const DATE = new Set(['date']);

/** The response of the authentication server, for the client: a redirect to a login page, a 401 or 403. */
const passedOn = ({ status, fields }: InternalAnswer, body: Buffer): OwnAnswer => ({
  status,
  fields: withoutFields(fields, DATE),
  body,
  reason: `the authentication server answered ${status}`,
  relayed: true,
});

const unavailable = (status: 502 | 504, reason: string): OwnAnswer => ({
  status,
  fields: '',
  body: null,
  reason: `the authentication server did not answer: ${reason}`,
});
