/** Validity period of a certificate: milliseconds since 1970. */
export type Validity = { readonly notBefore: number; readonly notAfter: number };

/** The window in which an authority suggests renewal (RFC 9773 4.2): milliseconds since 1970. */
export type RenewalWindow = { readonly start: number; readonly end: number };

/** Jitter as a share of the lifetime, so that certificates issued together spread out over time. */
const JITTER = 0.03;
/** This share of the lifetime is kept for retries, even if the authority suggests a later time. */
const SPARE = 0.1;
/**
 * Minimum age at renewal as a share of the lifetime, so that a wrong clock does not cause a loop of orders; within a suggested window at
 * most this (ms).
 */
const MIN_AGE = 0.01;
const MIN_AGE_ADVISED_MS = 3_600_000;

/** A certificate stored at `savedAt` (ms since 1970). */
export type Renewable = Validity & { readonly savedAt: number };

/**
 * When to renew: after two thirds of the lifetime, whether that is 90 days or 6 minutes, minus a jitter derived from the
 * name. If the authority suggests a window, a random moment in it (RFC 9773 4.2) that is derived from the name and the
 * window, so it is stable over calls. A window in the past means now.
 */
export function renewalTime(name: string, held: Renewable, window: RenewalWindow | null, now: number): number {
  const { notBefore, notAfter, savedAt } = held;
  const life = notAfter - notBefore;
  const age = (most: number): number => (savedAt <= now ? savedAt + Math.min(life * MIN_AGE, most) : 0);
  if (window === null || !isAdvice(window, held))
    return Math.round(Math.max(age(Infinity), notBefore + life * (2 / 3 - JITTER * fractionOf(name))));
  const { start, end } = window;
  const moment = start + (end - start) * fractionOf(`${name} ${start} ${end}`);
  return Math.round(Math.max(age(MIN_AGE_ADVISED_MS), Math.min(moment, notAfter - life * SPARE)));
}

/** RFC 9773 4.2: a window that ends before it begins is invalid; so is one after the certificate's expiry. */
const isAdvice = ({ start, end }: RenewalWindow, { notAfter }: Validity): boolean => start < end && start < notAfter;

/** A number from 0 to 1 derived from a text (FNV-1a). */
function fractionOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // Mix once more: the last characters have barely affected the upper bits.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 0x1_0000_0000;
}
