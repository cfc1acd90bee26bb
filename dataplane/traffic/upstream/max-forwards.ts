import { fieldIn } from '../codec/http1/kept-lines.ts';

/** Larger counts are forwarded as this (RFC 9110 7.6.2). */
const MAX_COUNT = 1_000_000;
const LINE = /^(max-forwards:[ \t]*)(\d+)[ \t]*$/im;

/** Whether Max-Forwards applies to the method: OPTIONS and TRACE. In any other request the field has no meaning. */
const usesMaxForwards = (method: string): boolean => method === 'OPTIONS' || method === 'TRACE';

/** Whether the request must not be forwarded further and is answered here (RFC 9110 7.6.2). */
export function endsHere(method: string, fields: string): boolean {
  return usesMaxForwards(method) && /^0+$/.test(fieldIn(fields, 'max-forwards') ?? '');
}

/** The fields with Max-Forwards decremented. A value that is not a number is forwarded unchanged. */
export function decrementMaxForwards(method: string, fields: string): string {
  if (!usesMaxForwards(method)) return fields;
  return fields.replace(LINE, (_, name: string, hops: string) => `${name}${Math.min(MAX_COUNT, Math.max(0, Number(hops) - 1))}`);
}
