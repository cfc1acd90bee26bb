/**
 * Decodes Punycode (RFC 3492, sections 5 and 6.2), which browsers only encode. @returns null if it is malformed; that it is the canonical
 * encoding is for the caller to check.
 */
export function decodePunycode(code: string): string | null {
  const end = code.lastIndexOf('-');
  const characters = end < 0 ? [] : [...code.slice(0, end)];
  let [at, value, bias] = [0, 128, 72];
  for (let read = end + 1; read < code.length; ) {
    const before = at;
    for (let [weight, k] = [1, 36]; ; k += 36) {
      const digit = digitOf(code.charCodeAt(read++));
      if (digit === null) return null;
      at += digit * weight;
      const threshold = Math.min(26, Math.max(1, k - bias));
      if (digit < threshold) break;
      weight *= 36 - threshold;
    }
    const count = characters.length + 1;
    bias = adapted(at - before, count, before === 0);
    value += Math.floor(at / count);
    at %= count;
    if (value > 0x10ffff) return null;
    characters.splice(at++, 0, String.fromCodePoint(value));
  }
  return characters.join('');
}

/** a to z are 0 to 25, and 0 to 9 are 26 to 35. */
function digitOf(code: number): number | null {
  if (code >= 97 && code <= 122) return code - 97;
  return code >= 48 && code <= 57 ? code - 22 : null;
}

function adapted(delta: number, count: number, isFirst: boolean): number {
  let left = Math.floor(delta / (isFirst ? 700 : 2));
  left += Math.floor(left / count);
  let k = 0;
  for (; left > 455; k += 36) left = Math.floor(left / 35);
  return k + Math.floor((36 * left) / (left + 38));
}
