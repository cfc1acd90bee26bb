import { traceParentLine } from '../../codec/trace-parent.ts';
import type { Failure } from '../failure.ts';

/** The maximum number of spans of each kind that one request keeps. A held request may be tried again for an hour. */
const MAX_SPANS = 16;
const OPEN = -1;

/** A target as spans name it. */
export type TracedTarget = {
  readonly address: string;
  /** null without TLS. */
  readonly serverName: string | null;
  readonly transport: { readonly http2: boolean };
};

/** Something that a request waits for: a target in rotation, a free connection, or a new connection. */
export type WaitReason = 'target' | 'connection' | 'connect';

/** Times are in ms on the monotonic clock. */
export type WaitSpan = {
  readonly id: string;
  readonly reason: WaitReason;
  readonly startedAt: number;
  endedAt: number;
  /** Why its attempt ended with it. */
  failure: Failure | null;
};

/** One attempt to get a response from a target. */
export type AttemptSpan = {
  readonly id: string;
  readonly target: TracedTarget;
  /** How often the request had been sent before. */
  readonly resends: number;
  readonly startedAt: number;
  endedAt: number;
  /** Its waits for a connection, in order. */
  readonly waits: WaitSpan[];
  /** When the head of the response had arrived; -1 if it never did. */
  answeredAt: number;
  /** 0 without a response. */
  status: number;
  failure: Failure | null;
};

export type SpanTools = {
  /** Unpredictable ids of spans. */
  newSpanId(): string;
  monotonic(): number;
};

/** The steps of one request to the upstream and back, recorded by the request path as they happen. */
export class RequestSpans {
  /** Waits for a target, in order. */
  readonly holds: WaitSpan[] = [];
  readonly attempts: AttemptSpan[] = [];
  private readonly tools: SpanTools;
  private attempt: AttemptSpan | null = null;
  private wait: WaitSpan | null = null;
  private sends = 0;

  constructor(tools: SpanTools) {
    this.tools = tools;
  }

  /** The current attempt; null if there is none. */
  get current(): AttemptSpan | null {
    return this.attempt;
  }

  /** The request waits until the pool has a target for it. */
  held(): void {
    this.attemptOver(null);
    this.waitsFor('target', this.holds);
  }

  /** The request is sent to this target. */
  attemptBegun(target: TracedTarget): void {
    this.attemptOver(null);
    const { tools } = this;
    this.attempt = {
      id: tools.newSpanId(),
      target,
      resends: this.sends++,
      startedAt: tools.monotonic(),
      endedAt: OPEN,
      waits: [],
      answeredAt: OPEN,
      status: 0,
      failure: null,
    };
    keep(this.attempts, this.attempt);
  }

  /** The current attempt waits for a connection. */
  waits(reason: 'connection' | 'connect'): void {
    if (this.attempt !== null) this.waitsFor(reason, this.attempt.waits);
  }

  /** The current attempt has a connection. */
  sent(): void {
    this.waitOver();
  }

  /** The head of the target's response has arrived. */
  answered(status: number): void {
    this.waitOver();
    if (this.attempt === null) return;
    this.attempt.status = status;
    this.attempt.answeredAt = this.tools.monotonic();
  }

  /** The current attempt has ended. `failure` null: its response was complete, or nothing waits for it any more. */
  attemptOver(failure: Failure | null): void {
    if (this.wait !== null) this.wait.failure = failure;
    this.waitOver();
    if (this.attempt === null) return;
    this.attempt.failure = failure;
    this.attempt.endedAt = this.tools.monotonic();
    this.attempt = null;
  }

  private waitsFor(reason: WaitReason, list: WaitSpan[]): void {
    this.waitOver();
    const { tools } = this;
    this.wait = { id: tools.newSpanId(), reason, startedAt: tools.monotonic(), endedAt: OPEN, failure: null };
    keep(list, this.wait);
  }

  private waitOver(): void {
    if (this.wait === null) return;
    this.wait.endedAt = this.tools.monotonic();
    this.wait = null;
  }
}

/** If there are too many spans, those in the middle are dropped. */
function keep<T>(list: T[], span: T): void {
  if (list.length === MAX_SPANS) list.splice(MAX_SPANS / 2, 1);
  list.push(span);
}

/** The place of a request in a trace (W3C Trace Context). */
export class Trace {
  /** 16 bytes as hex. */
  readonly id: string;
  /** The span of its sender; empty if the trace begins here. */
  readonly parentId: string;
  /** The span of the whole request. */
  readonly spanId: string;
  /** null if it is not sampled, or its steps are not recorded. */
  readonly spans: RequestSpans | null;
  /** Whether recipients should keep their spans. */
  private readonly sampled: boolean;

  constructor(id: string, parentId: string, spanId: string, spans: RequestSpans | null, sampled = spans !== null) {
    this.id = id;
    this.parentId = parentId;
    this.spanId = spanId;
    this.spans = spans;
    this.sampled = sampled;
  }

  /**
   * For a request of the proxy's own that this one does not wait for, or whose steps say nothing about it: its recipient joins the trace.
   */
  withoutSpans(): Trace {
    return new Trace(this.id, this.parentId, this.spanId, null, this.sampled);
  }

  /** The field line for the upstream, which gets the span of the attempt as its parent. */
  get line(): string {
    const spanId = this.spans?.current?.id ?? this.spanId;
    return traceParentLine({ traceId: this.id, spanId, sampled: this.sampled });
  }
}
