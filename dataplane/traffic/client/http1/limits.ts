/** A time limit that never passes. */
export const NEVER: number = Number.POSITIVE_INFINITY;
/** The limit is computed at the next sweep: most limits are lifted before that. */
export const UNSET = 0;

/** Milliseconds: for a whole head, between requests, and between two pieces of a body in either direction. */
export const HEAD_MS = 10_000;
export const IDLE_MS = 60_000;
export const BODY_IDLE_MS = 60_000;
/** `busy`: a request, a body or a response is under way; `begun`: part of a head has arrived. */
export const limitOf = (busy: boolean, begun: boolean): number => (busy ? BODY_IDLE_MS : begun ? HEAD_MS : IDLE_MS);
/** How long an idle connection may wait for its last request when the worker shuts down and another has the same ports (ms). */
export const LAST_REQUEST_MS = 5_000;
/** How long (ms) and how much (bytes) a client may keep sending after a response that did not wait for its body. */
export const LINGER_MS = 2_000;
export const LINGER_BYTES = 262_144;
/** Pipelined requests are buffered up to this many bytes. */
export const PIPELINE_BYTES = 65_536;
