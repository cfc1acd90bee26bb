import { type HeadLimits, USUAL_HEAD } from '../codec/http1/response-head-reader.ts';

/** How long the targets of a pool may take (ms; Infinity is as long as they like), and how much the heads of their answers may be. */
export type Limits = {
  /** Until a connection stands, name look-up and TLS included; null is what the kind of target suggests. */
  readonly connectMs: number | null;
  /** Until an answer begins, counted from the end of the request. */
  readonly headMs: number;
  /** Between two pieces of an answer's body. */
  readonly bodyIdleMs: number;
  readonly head: HeadLimits;
};

export const USUAL: Limits = { connectMs: null, headMs: 60_000, bodyIdleMs: 60_000, head: USUAL_HEAD };
