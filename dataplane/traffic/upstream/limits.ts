import type { TransportSpec } from '../../../shared/transport.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type Limits, USUAL } from '../exchange/limits.ts';

/** A head may have a line for so many bytes of what it may be, and never fewer than usual. */
const BYTES_OF_A_LINE = 256;

/** What a route says about time and size. 0 is no limit of time. */
export function limitsOf(transport: TransportSpec | null | undefined): Limits {
  if (transport == null) return USUAL;
  const {
    dial_timeout_secs: dial,
    response_header_timeout_secs: head,
    read_timeout_secs: read,
    max_response_header_bytes: bytes,
  } = transport;
  if (dial === undefined && head === undefined && read === undefined && bytes === undefined) return USUAL;
  return {
    connectMs: dial === undefined ? USUAL.connectMs : dial * 1_000,
    headMs: head === undefined ? USUAL.headMs : msOf(head),
    bodyIdleMs: read === undefined ? USUAL.bodyIdleMs : msOf(read),
    head: bytes === undefined ? USUAL.head : { bytes, lines: linesFor(bytes) },
  };
}

/** How many lines a head of so many bytes may have. */
export const linesFor = (bytes: number): number => Math.max(USUAL.head.lines, Math.floor(bytes / BYTES_OF_A_LINE));

const msOf = (secs: number): number => (secs === 0 ? Number.POSITIVE_INFINITY : secs * 1_000);

/** What holds for an exchange: what its site or block says, which is no part of what a target is. */
export const limitsFor = (x: Exchange): Limits => x.upstream?.limits ?? USUAL;
