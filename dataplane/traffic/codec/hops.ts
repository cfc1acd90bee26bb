import { HOPS_FIELD } from '../../../shared/name.ts';

/** How often a request may have been forwarded by proxies like this one, and be forwarded once more: no chain is as long. */
export const MOST_HOPS = 10;

/** What goes on with a request that has come so far, as a line. */
const LINES = Array.from({ length: MOST_HOPS + 1 }, (_, hops) => `${HOPS_FIELD}: ${hops + 1}\r\n`);

/** The line that counts one hop more; none where the request goes no further. */
export const hopsLine = (hops: number): string => LINES[hops] ?? '';

/** A count of hops from 1 to 999; Infinity for anything else. */
export const readHops = (value: string): number => (/^[1-9]\d{0,2}$/.test(value) ? Number(value) : Number.POSITIVE_INFINITY);
