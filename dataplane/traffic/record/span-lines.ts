import type { Clock } from '../../../shared/runtime/clock.ts';
import type { LineRing } from '../../ledger/line-ring.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { RequestSpans, Trace } from '../exchange/tracing/trace.ts';
import { spanText } from './span-text.ts';

/** The spans of one worker's sampled requests, which are passed to the thread that sends them. */
export class SpanLines {
  private readonly clock: Clock;
  private readonly ring: LineRing;

  constructor(clock: Clock, ring: LineRing) {
    this.clock = clock;
    this.ring = ring;
  }

  /** The exchange is over; `now` in ms on the monotonic clock. The number of a line is that of its spans. */
  ended(x: Exchange, trace: Trace, spans: RequestSpans, now: number): void {
    spans.attemptOver(null);
    const { text, count } = spanText(x, trace, spans, this.clock.now() - now, now);
    this.ring.push(count, text, count);
  }
}
