import { VITALS, type Vital, type VitalsObservation } from '../../protocol.ts';

/** The largest value of each metric that a page can have measured: ms, a score, ms. */
const MAX: Readonly<Record<Vital, number>> = { lcp: 60_000, cls: 100, inp: 60_000 };

/**
 * Reads what a page has posted: JSON with any of `lcp`, `cls` and `inp`; other members are ignored. @returns null if it is anything else.
 */
export function parseObservation(body: Buffer): VitalsObservation | null {
  const posted = parseJson(body);
  if (typeof posted !== 'object' || posted === null || Array.isArray(posted)) return null;
  const observation: { [Metric in Vital]?: number } = {};
  for (const metric of VITALS) {
    const value: unknown = (posted as Record<string, unknown>)[metric];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !(value >= 0 && value <= MAX[metric])) return null;
    observation[metric] = value;
  }
  return observation;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return undefined;
  }
}
