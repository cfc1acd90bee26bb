/** Smaller differences are those of a slow connection (ms). */
const TOLERATED_MS = 60_000;

let ahead = 0;

/** The proxy's time of day (ms since 1970). The clock of the browser may be wrong, and periods would have no visits. */
export const proxyTime = (): number => Date.now() + ahead;

/** The proxy has just said that this is its time. */
export function setProxyTime(at: string): void {
  const seen = Date.parse(at) - Date.now();
  if (Math.abs(seen - ahead) > TOLERATED_MS) ahead = Math.abs(seen) > TOLERATED_MS ? seen : 0;
}
