import type { AnalyticsSnapshot, Percentiles } from '../../../shared/wire/analytics.ts';

declare global {
  interface JSON {
    /** ECMAScript 2026; not declared by TypeScript yet. */
    rawJSON(text: string): object;
  }
}

/**
 * A snapshot as it is sent. Percentiles are published as floats: `0.0` without data. Databases and languages that derive types from JSON
 * take `0` for an integer, and then cut off what follows the point of later ones.
 */
export const withFloats = (snapshot: AnalyticsSnapshot): object => {
  const { lcp, cls, inp } = snapshot.web_vitals;
  return { ...snapshot, web_vitals: { lcp: floats(lcp), cls: floats(cls), inp: floats(inp) } };
};

const floats = (percentiles: Percentiles): object =>
  Object.fromEntries(
    Object.entries(percentiles).map(([name, value]) => [name, Number.isInteger(value) ? JSON.rawJSON(value.toFixed(1)) : value]),
  );
