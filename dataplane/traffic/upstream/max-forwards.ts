import { fieldIn } from '../codec/http1/fields.ts';

/** A larger count than this goes on as this (RFC 9110 7.6.2). */
const MOST = 1_000_000;
const LINE = /^(max-forwards:[ \t]*)(\d+)[ \t]*$/im;

/** Whether a count of hops belongs to the method: OPTIONS and TRACE. In any other request the field means nothing. */
const counted = (method: string): boolean => method === 'OPTIONS' || method === 'TRACE';

/** Whether the request has come as far as it may: then it is answered here (RFC 9110 7.6.2). */
export function endsHere(method: string, fields: string): boolean {
  return counted(method) && /^0+$/.test(fieldIn(fields, 'max-forwards') ?? '');
}

/** The fields with one hop less to go. What is no number goes on as it is. */
export function oneHopLess(method: string, fields: string): string {
  if (!counted(method)) return fields;
  return fields.replace(LINE, (_, name: string, hops: string) => `${name}${Math.min(MOST, Math.max(0, Number(hops) - 1))}`);
}
