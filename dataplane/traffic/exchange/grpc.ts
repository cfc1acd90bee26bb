import { fieldIn } from '../codec/http1/kept-lines.ts';
import type { Exchange } from './exchange.ts';

/** Whether its client says that it is a gRPC call. */
export const isGrpc = (x: Exchange): boolean => /^application\/grpc\b/i.test(fieldIn(x.fields, 'content-type') ?? '');

/**
 * Whether it is a gRPC call to a target that may serve it: those have their own deadline, and both sides may be silent without a limit. Any
 * client can send the content type to any site, but gRPC needs HTTP/2.
 */
export const isServedGrpc = (x: Exchange): boolean => x.upstream?.http2 === true && isGrpc(x);

/** Milliseconds in the units of a deadline. */
const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 0.001, n: 0.000_001 };
const TIMEOUT = /^(\d{1,8})([HMSmun])$/;

/** Whether it is a gRPC call whose deadline has passed. Its client chooses the deadline. `now` in ms on the monotonic clock. */
export function isPastDeadline(x: Exchange, now: number): boolean {
  if (!isGrpc(x)) return false;
  const [, count, unit = ''] = TIMEOUT.exec(fieldIn(x.fields, 'grpc-timeout') ?? '') ?? [];
  return now - x.startedAt >= Number(count) * (UNITS[unit] ?? Number.NaN);
}
