import type { Rate } from '../../values/rate.ts';

/** A limit in a route; exactly one of them is present. */
export type Limit = { readonly rps?: number | undefined; readonly rpm?: number | undefined; readonly rph?: number | undefined };

/** How many requests a limit allows, and in which period. */
export function rateOf({ rps, rpm, rph }: Limit): Rate {
  if (rps !== undefined) return { requests: rps, period: 'second' };
  return rpm === undefined ? { requests: rph ?? 0, period: 'hour' } : { requests: rpm, period: 'minute' };
}
