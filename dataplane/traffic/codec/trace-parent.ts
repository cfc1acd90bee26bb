/** What a `traceparent` field says (W3C Trace Context 3.2). Both ids are lower-case hex: 16 bytes and 8. */
export type TraceParent = { readonly traceId: string; readonly spanId: string; readonly sampled: boolean };

/** Version, trace id, span id, flags, and what a later version may add. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const OWN_VERSION = '00';
const INVALID_VERSION = 'ff';
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const SAMPLED = 1;

/** @returns null if it is invalid. A later version is read as far as it agrees with version 00 (4.3). */
export function readTraceParent(value: string): TraceParent | null {
  const [, version, traceId, spanId, flags, rest] = FORM.exec(value) ?? [];
  if (version === undefined || traceId === undefined || spanId === undefined || flags === undefined) return null;
  if (version === INVALID_VERSION || (version === OWN_VERSION && rest !== undefined)) return null;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null;
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 };
}

/** The field line. Flags other than `sampled` are set to zero (3.2.2.5). */
export const traceParentLine = ({ traceId, spanId, sampled }: TraceParent): string =>
  `traceparent: ${OWN_VERSION}-${traceId}-${spanId}-${sampled ? '01' : '00'}\r\n`;
