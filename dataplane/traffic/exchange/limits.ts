import { DEFAULT_HEAD_LIMITS, type HeadLimits } from '../codec/http1/response-head-reader.ts';

/** The maximum number of interim responses (1xx) before the final one. */
export const MAX_INTERIM = 32;

/** Time limits for the targets of a pool (ms; Infinity is no limit), and size limits for the heads of their responses. */
export type Limits = {
  /** Until a connection is established, including name look-up and TLS; null is the default for the kind of target. */
  readonly connectMs: number | null;
  /** Until a response begins, counted from the end of the request. */
  readonly headMs: number;
  /** Between two pieces of a response's body. */
  readonly bodyIdleMs: number;
  /** Until the response is complete, with all attempts and all waiting. */
  readonly wholeMs: number;
  readonly head: HeadLimits;
};

export const DEFAULT_LIMITS: Limits = {
  connectMs: null,
  headMs: 60_000,
  bodyIdleMs: 60_000,
  wholeMs: Number.POSITIVE_INFINITY,
  head: DEFAULT_HEAD_LIMITS,
};
