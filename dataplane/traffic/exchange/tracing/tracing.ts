import type { Random } from '../../../../shared/runtime/random.ts';
import type { Fields } from '../../codec/http1/fields.ts';
import { withoutFields } from '../../codec/http1/kept-lines.ts';
import { readTraceParent } from '../../codec/trace-parent.ts';
import type { TracingSettings } from '../../protocol.ts';
import { RequestSpans, type SpanTools, Trace } from './trace.ts';

export type TracingOptions = TracingSettings & {
  readonly random: Random;
  monotonic(): number;
};

const TRACE_ID_DIGITS = 32;
const SPAN_ID_DIGITS = 16;
/** How many random bytes are drawn at once: one call for each id would take longer than everything else here. */
const DRAWN_BYTES = 4_096;

const PARENT: ReadonlySet<string> = new Set(['traceparent']);
const PARENT_AND_STATE: ReadonlySet<string> = new Set(['traceparent', 'tracestate']);

/** Gives each request its place in a trace: its sender's trace, or a new one if the sender names none or an invalid one. */
export class Tracing {
  private readonly options: TracingOptions;
  private readonly tools: SpanTools;
  private digits = '';
  private at = 0;

  constructor(options: TracingOptions) {
    this.options = options;
    this.tools = { newSpanId: () => this.hex(SPAN_ID_DIGITS), monotonic: () => options.monotonic() };
  }

  /** `trusted`: whether the sender is a trusted proxy. */
  begin({ traceParent }: Fields, trusted: boolean): Trace {
    const { ratio, trustsClients, random } = this.options;
    const parent = traceParent === null ? null : readTraceParent(traceParent);
    const follows = parent !== null && (trusted || trustsClients);
    const sampled = follows ? parent.sampled : random.fraction() < ratio;
    const id = parent?.traceId ?? this.hex(TRACE_ID_DIGITS);
    return new Trace(id, parent?.spanId ?? '', this.hex(SPAN_ID_DIGITS), sampled ? new RequestSpans(this.tools) : null);
  }

  private hex(digits: number): string {
    if (this.at + digits > this.digits.length) {
      this.digits = this.options.random.hex(DRAWN_BYTES);
      this.at = 0;
    }
    const from = this.at;
    this.at += digits;
    return this.digits.slice(from, this.at);
  }
}

/** The fields that are forwarded besides our own `traceparent`. A `tracestate` without a valid `traceparent` is dropped (3.3, 4.3). */
export function untraced({ kept, traceParent, hasTraceState }: Fields, { parentId }: Trace): string {
  if (parentId === '' && hasTraceState) return withoutFields(kept, PARENT_AND_STATE);
  return traceParent === null ? kept : withoutFields(kept, PARENT);
}
