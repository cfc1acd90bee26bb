import type { TransportSpec } from '../../../../shared/upstreams/transport.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { DEFAULT_LIMITS, type Limits } from '../../exchange/limits.ts';

/** A head may have one line per this many bytes of its size limit, and never fewer than the default. */
const BYTES_PER_LINE = 256;

/** The time and size limits that a route sets. 0 is no time limit. */
export function limitsOf(transport: TransportSpec | null | undefined): Limits {
  if (transport == null) return DEFAULT_LIMITS;
  const {
    dial_timeout_secs: dial,
    response_header_timeout_secs: head,
    read_timeout_secs: read,
    request_timeout_secs: whole,
    max_response_header_bytes: bytes,
  } = transport;
  if ([dial, head, read, whole, bytes].every((limit) => limit === undefined)) return DEFAULT_LIMITS;
  return {
    connectMs: dial === undefined ? DEFAULT_LIMITS.connectMs : dial * 1_000,
    headMs: head === undefined ? DEFAULT_LIMITS.headMs : msOf(head),
    bodyIdleMs: read === undefined ? DEFAULT_LIMITS.bodyIdleMs : msOf(read),
    wholeMs: whole === undefined ? DEFAULT_LIMITS.wholeMs : msOf(whole),
    head: bytes === undefined ? DEFAULT_LIMITS.head : { bytes, lines: linesFor(bytes) },
  };
}

/** How many lines a head of this many bytes may have. */
export const linesFor = (bytes: number): number => Math.max(DEFAULT_LIMITS.head.lines, Math.floor(bytes / BYTES_PER_LINE));

const msOf = (secs: number): number => (secs === 0 ? Number.POSITIVE_INFINITY : secs * 1_000);

/** The limits for an exchange: they come from its site or block and are not a property of the target. */
export const limitsFor = (x: Exchange): Limits => x.upstream?.limits ?? DEFAULT_LIMITS;
