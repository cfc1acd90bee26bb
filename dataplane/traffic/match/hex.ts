const DIGITS = Int8Array.from({ length: 256 }, (_, code) => {
  const digit = String.fromCharCode(code);
  return /[0-9A-Fa-f]/.test(digit) ? Number.parseInt(digit, 16) : -1;
});

/** The value of two hexadecimal digits, given as character codes. Negative if either is not a digit. */
export const hexOf = (high: number, low: number): number => ((DIGITS[high] ?? -1) << 4) | (DIGITS[low] ?? -1);
