import { wasSetBack } from '../../../../shared/policy/cache/set-back.ts';
import type { CacheEntry } from '../../cache-messages.ts';
import { httpTime } from '../../codec/http-time.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { AnswerFields } from '../../exchange/answer-fields.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type StoredHead, storedLines } from '../../exchange/relay.ts';
import { LONGEST } from './directives.ts';
import type { StoredBody } from './stored-bodies.ts';

/** An entry as one worker uses it. Everything that each hit needs is computed once. */
export class StoredResponse {
  readonly entry: CacheEntry;
  readonly body: StoredBody;
  /** Views of the body, which is shared. */
  readonly pieces: readonly Buffer[];
  readonly lastModified: number;
  readonly contentType: string | null;
  /** Uses since the last message to the main thread. */
  uses = 0;
  private readonly head: StoredHead;
  private readonly codings: boolean;
  private lines = '';
  private linesFor: AnswerFields | null = null;
  private linesSecure = false;

  constructor(entry: CacheEntry, body: StoredBody) {
    this.entry = entry;
    this.body = body;
    this.pieces = entry.body.map((shared) => Buffer.from(shared));
    // Without Last-Modified, Date is what an If-Modified-Since is compared with (RFC 9111 4.3.2).
    this.lastModified = httpTime(entry.lastModified ?? fieldIn(entry.fields, 'date') ?? '');
    this.contentType = fieldIn(entry.fields, 'content-type');
    this.codings = entry.vary.length > 0;
    this.head = {
      hasStrictTransportSecurity: fieldIn(entry.fields, 'strict-transport-security') !== null,
      hasContentTypeOptions: fieldIn(entry.fields, 'x-content-type-options') !== null,
      hasFrameOptions: fieldIn(entry.fields, 'x-frame-options') !== null,
    };
  }

  /** Whether the choice depends on fields of the request. */
  get varies(): boolean {
    return this.codings;
  }

  /** The lines for a response to this exchange. They depend on little, so they are rarely recomputed. */
  linesOf(x: Exchange): string {
    const { entry } = this;
    const fields = x.block?.fields ?? null;
    if (fields !== null && fields.changes !== null) return storedLines(x, entry.status, entry.fields, this.head);
    if (this.linesFor !== fields || this.linesSecure !== x.strictTransport || this.lines === '') {
      this.lines = storedLines(x, entry.status, entry.fields, this.head);
      this.linesFor = fields;
      this.linesSecure = x.strictTransport;
    }
    return this.lines;
  }

  /** Seconds (RFC 9111 4.2.3), the most if it is unknown; `now` in ms since 1970. */
  age(now: number): number {
    const { initialAge, receivedAt } = this.entry;
    if (wasSetBack(receivedAt, now)) return LONGEST;
    return initialAge + Math.max(0, Math.floor((now - receivedAt) / 1_000));
  }

  /** Whether it may be used while stale because the upstream fails (RFC 5861 4). `now` in ms since 1970. */
  maySubstitute(now: number): boolean {
    const { noCache, mustRevalidate, staleIfError, lifetime } = this.entry;
    return !noCache && !mustRevalidate && staleIfError > 0 && this.age(now) - lifetime <= staleIfError;
  }
}
