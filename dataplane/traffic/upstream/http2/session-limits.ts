import { RESPONSE_HEADER_BYTES } from '../../../../shared/upstreams/transport.ts';
import { MAX_WINDOW } from '../../codec/http2/frames/frame.ts';
import type { SessionLimits } from '../../codec/http2/session-owner.ts';
import { linesFor } from '../target/limits.ts';

/**
 * The largest head that any route may allow; each exchange has its own limit. Each field line counts 32 bytes more than its length (RFC
 * 9113 6.5.2).
 */
const { max: MAX_HEADER_BYTES } = RESPONSE_HEADER_BYTES;
const MAX_HEADER_LINES = linesFor(MAX_HEADER_BYTES) + 1;
/** What a session announces to its target, and keeps for clients. See decision 0138. */
export const SESSION_LIMITS: SessionLimits = {
  isServer: false,
  streams: 0,
  // Not a size that many bodies have: Node's servers never end a response whose last byte has used up a window, but reset it.
  streamWindow: 262_147,
  maxStreamWindow: 1_048_576,
  // For the same reason it is never what limits a target; instead, nothing more is read of a connection with too much unread.
  connectionWindow: MAX_WINDOW,
  maxConnectionWindow: MAX_WINDOW,
  maxUnread: 8_388_608,
  fieldList: MAX_HEADER_BYTES + 32 * MAX_HEADER_LINES,
};

/** With this much unread on it (bytes), a session gets requests only if no further one may be opened. */
export const CROWDED = 2_097_152;
