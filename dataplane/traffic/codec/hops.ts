import { HOPS_FIELD } from '../../../shared/name.ts';

/** The largest number of hops with which a request is still forwarded. No legitimate chain of proxies is that long. */
export const MAX_HOPS = 10;

/** The field line to forward, by the number of hops so far. */
const LINES = Array.from({ length: MAX_HOPS + 1 }, (_, hops) => `${HOPS_FIELD}: ${hops + 1}\r\n`);

/** The line with the count raised by one, or '' if the request must not be forwarded. */
export const hopsLine = (hops: number): string => LINES[hops] ?? '';

/** A number of hops from 1 to 999. Anything else reads as Infinity. */
export const readHops = (value: string): number => (/^[1-9]\d{0,2}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY);
