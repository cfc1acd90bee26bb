/** Milliseconds: for a whole head, between requests, and between two pieces of a body either way. */
export const HEAD_MS = 10_000;
export const IDLE_MS = 60_000;
export const BODY_IDLE_MS = 60_000;
/** How long a kept connection may wait for its last request when the worker goes away patiently (ms). */
export const LAST_REQUEST_MS = 5_000;
/** How long and how much a client may still send after an answer that did not wait for its body. */
export const LINGER_MS = 2_000;
export const LINGER_BYTES = 262_144;
/** Requests that a client sends ahead of answers wait here, up to this many bytes. */
export const PIPELINE_BYTES = 65_536;
