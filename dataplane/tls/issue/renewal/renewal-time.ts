/** When a certificate is good: milliseconds since 1970. */
export type Validity = { readonly notBefore: number; readonly notAfter: number };

/** A stretch of time in which an authority would like a certificate to be renewed (RFC 9773 4.2): milliseconds since 1970. */
export type RenewalWindow = { readonly start: number; readonly end: number };

/** Up to this share of its life, so that names which were issued together part over the years. */
const JITTER = 0.03;
/** Whatever its authority advises, this share of its life stays for tries that fail. */
const SPARE = 0.1;
/** This share of its life at least lies between two orders, so that a clock that is months wrong is no loop of orders; with advice no more than this (ms). */
const LEAST_AGE = 0.01;
const LEAST_AGE_ADVISED_MS = 3_600_000;

/** A certificate that was got at `savedAt` (ms since 1970). */
export type Renewable = Validity & { readonly savedAt: number };

/**
 * The moment to renew at: two thirds through its life, whether that is 90 days or 6 minutes, a little earlier by a
 * part that is the name's own. In a window of the authority, a moment of it that is the name's and the window's own:
 * drawn like lots (RFC 9773 4.2), but it stays where it is however often one looks. One that is over means now.
 */
export function renewalTime(name: string, held: Renewable, window: RenewalWindow | null, now: number): number {
  const { notBefore, notAfter, savedAt } = held;
  const life = notAfter - notBefore;
  const age = (most: number): number => (savedAt <= now ? savedAt + Math.min(life * LEAST_AGE, most) : 0);
  if (window === null || !isAdvice(window, held))
    return Math.round(Math.max(age(Infinity), notBefore + life * (2 / 3 - JITTER * fractionOf(name))));
  const { start, end } = window;
  const moment = start + (end - start) * fractionOf(`${name} ${start} ${end}`);
  return Math.round(Math.max(age(LEAST_AGE_ADVISED_MS), Math.min(moment, notAfter - life * SPARE)));
}

/** RFC 9773 4.2: a window that ends before it begins is no advice; neither is one after the certificate's end. */
const isAdvice = ({ start, end }: RenewalWindow, { notAfter }: Validity): boolean => start < end && start < notAfter;

/** A number from 0 to 1 that is a text's own (FNV-1a). */
function fractionOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  // The last letters have hardly reached the upper bits yet.
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash ^ (hash >>> 12)) >>> 0) / 0x1_0000_0000;
}
