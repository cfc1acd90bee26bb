import type { Clock } from '../../shared/runtime/clock.ts';
import type { LineRings } from '../ledger/line-ring.ts';

/** The outcome of a batch. */
export type Outcome =
  /** `rejected` spans of it were not accepted, for a reason; a collector may name more than it was sent. */
  | { readonly kind: 'delivered'; readonly rejected: number; readonly reason: string }
  /** It may be sent again, after `afterMs` if the collector said so. */
  | { readonly kind: 'retry'; readonly reason: string; readonly afterMs: number | null }
  /** Sending it again would change nothing. */
  | { readonly kind: 'refused'; readonly reason: string };

export type SpanExporterTools = {
  readonly clock: Clock;
  readonly rings: LineRings;
  /** The beginning and the end of a request, around spans that are separated by commas. */
  readonly envelope: readonly [before: string, after: string];
  /** Never throws. */
  send(body: string): Promise<Outcome>;
  /** Why spans can't be delivered, whenever that changes; null: they are delivered again. */
  report(failure: string | null): void;
};

/** Spans wait this long for others (ms), unless there are this many bytes of them. */
const GATHER_MS = 1_000;
const BATCH_BYTES = 512 << 10;
/** The maximum number of bytes that wait, including those in flight. */
const MAX_WAITING = 8 << 20;
/** A batch is given up this long after it was first sent (ms), so that newer spans have a chance. */
const GIVE_UP_MS = 60_000;
/** The pause after a failure (ms), doubled from one to the next. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** The spans of one request, as text. */
type Spans = { readonly text: string; readonly count: number };
type Batch = { readonly body: string; readonly spans: number; readonly bytes: number; firstSentAt: number };

/** Collects the spans of all workers and sends them in batches, one after the other. Spans that don't fit are dropped and counted. */
export class SpanExporter {
  private readonly tools: SpanExporterTools;
  private waiting: Spans[] = [];
  /** Their length. */
  private bytes = 0;
  /** When the first of them arrived. */
  private since = 0;
  private batch: Batch | null = null;
  private sending = false;
  /** When the batch may be sent again. */
  private notBefore = 0;
  private pauseMs = FIRST_PAUSE_MS;
  private failure: string | null = null;

  constructor(tools: SpanExporterTools) {
    this.tools = tools;
  }

  /** Whether anything has not been sent. */
  get busy(): boolean {
    return this.batch !== null || this.waiting.length > 0;
  }

  /**
   * Takes the remaining spans of the workers, and sends batches while any are due. `last`: the process ends, so they are due at once.
   * @returns when it has nothing more to send for now.
   */
  async turn(last = false): Promise<void> {
    this.gather();
    if (this.sending) return;
    this.sending = true;
    while (this.isDue(last)) {
      this.batch ??= this.nextBatch();
      await this.sendBatch(this.batch);
      this.gather();
      if (last) break;
    }
    this.sending = false;
  }

  private isDue(last: boolean): boolean {
    const now = this.tools.clock.monotonic();
    if (!last && now < this.notBefore) return false;
    return this.batch !== null || (this.waiting.length > 0 && (last || this.bytes >= BATCH_BYTES || now - this.since >= GATHER_MS));
  }

  /** The process ends: spans that have not been sent are lost. */
  end(): void {
    this.tools.rings.lose(countOf(this.waiting) + (this.batch?.spans ?? 0));
    this.waiting = [];
    this.bytes = 0;
    this.batch = null;
  }

  private gather(): void {
    const { rings, clock } = this.tools;
    for (const ring of rings.rings)
      ring.read((count, bytes, from, to) => {
        if (this.bytes + (this.batch?.bytes ?? 0) + to - from > MAX_WAITING) return rings.lose(count);
        if (this.waiting.length === 0) this.since = clock.monotonic();
        this.waiting.push({ text: bytes.toString('latin1', from, to), count });
        this.bytes += to - from;
      });
  }

  /** As many of the oldest as make a batch. */
  private nextBatch(): Batch {
    const { envelope, clock } = this.tools;
    let bytes = 0;
    let taken = 0;
    while (taken < this.waiting.length && bytes < BATCH_BYTES) bytes += (this.waiting[taken++] as Spans).text.length;
    const batch = this.waiting.splice(0, taken);
    this.bytes -= bytes;
    const body = envelope[0] + batch.map(({ text }) => text).join(',') + envelope[1];
    return { body, spans: countOf(batch), bytes, firstSentAt: clock.monotonic() };
  }

  private async sendBatch(batch: Batch): Promise<void> {
    const outcome = await this.tools.send(batch.body);
    if (this.batch !== batch) return;
    if (outcome.kind === 'retry' && this.mayRepeat(batch, outcome.afterMs)) return this.reportFailure(outcome.reason);
    this.batch = null;
    if (outcome.kind !== 'retry') this.pauseMs = FIRST_PAUSE_MS;
    this.tools.rings.lose(outcome.kind === 'delivered' ? Math.min(outcome.rejected, batch.spans) : batch.spans);
    this.reportFailure(outcome.reason === '' ? null : outcome.reason);
  }

  /** Sets when the next request may be sent. @returns whether that is soon enough for this batch. */
  private mayRepeat({ firstSentAt }: Batch, afterMs: number | null): boolean {
    this.notBefore = this.tools.clock.monotonic() + Math.max(this.pauseMs, afterMs ?? 0);
    this.pauseMs = Math.min(2 * this.pauseMs, LONGEST_PAUSE_MS);
    return this.notBefore - firstSentAt <= GIVE_UP_MS;
  }

  private reportFailure(failure: string | null): void {
    if (failure === this.failure) return;
    this.failure = failure;
    this.tools.report(failure);
  }
}

const countOf = (spans: readonly Spans[]): number => spans.reduce((sum, { count }) => sum + count, 0);
