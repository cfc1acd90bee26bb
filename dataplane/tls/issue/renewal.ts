/** When a certificate is good: milliseconds since 1970. */
export type Validity = { readonly notBefore: number; readonly notAfter: number };

/** A stretch of time in which an authority would like a certificate to be renewed (RFC 9773 4.1). */
export type Window = { readonly start: number; readonly end: number };

/** Up to this share of its life, so that names which were issued together part over the years. */
const JITTER = 0.03;

/**
 * The moment to renew at: two thirds through its life, whether that is 90 days or 6, a little earlier by `fraction`
 * (0 to 1). In a window of the authority, that part of the window; one that is over means now.
 */
export function renewalTime({ notBefore, notAfter }: Validity, window: Window | null, fraction: number): number {
  const life = notAfter - notBefore;
  if (window === null) return Math.round(notBefore + life * (2 / 3 - JITTER * fraction));
  // RFC 9773 4.2: a window that ends before it begins, or after the certificate does, is no advice.
  if (window.end <= window.start || window.start >= notAfter) return renewalTime({ notBefore, notAfter }, null, fraction);
  return Math.round(window.start + (window.end - window.start) * fraction);
}
