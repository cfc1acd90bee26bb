/**
 * Names of hosts as their owners write them. Who chooses a name must not be able to have it read as another, so whatever could be mistaken
 * stays in ASCII (Unicode Technical Standard 39, UTS 46).
 */

/** The writing systems of names. Letters of one are never mixed with those of another. */
const WRITING_SYSTEMS: readonly RegExp[] = [
  // With the letters that European languages and Vietnamese add. Others look like ASCII, as ı and ɡ do.
  /^[a-zß-öø-ÿā-įĳ-ķĺ-ňŋ-žơưșț\u1ea0-\u1ef9]+$/u,
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]+$/u,
  /^[\p{Script=Han}\p{Script=Bopomofo}]+$/u,
  /^[\p{Script=Han}\p{Script=Hangul}]+$/u,
  ...['Arabic', 'Armenian', 'Bengali', 'Cyrillic', 'Devanagari', 'Ethiopic', 'Georgian', 'Greek', 'Gujarati', 'Gurmukhi', 'Hebrew'].map(
    lettersOf,
  ),
  ...['Kannada', 'Khmer', 'Lao', 'Malayalam', 'Myanmar', 'Oriya', 'Sinhala', 'Tamil', 'Telugu', 'Thai', 'Tibetan'].map(lettersOf),
];

function lettersOf(script: string): RegExp {
  return new RegExp(`^\\p{Script=${script}}+$`, 'u');
}

/** Letters that look like ASCII: a label of nothing else could be read as another name. */
const LOOKALIKES = /^[асԁѡԍѳкеһіјӏорԛѕԝхугпьъҽѵαικνορτυχγωηագզէլհյոսւօიოყძხדוחיןסײװഠရဝー一ノ丶丨丿ㅡㅣ]+$/u;

/** `xn--e1afmkfd.test` → пример.test. */
export const readableHost = (name: string): string => (name.includes('xn--') ? name.split('.').map(readableLabel).join('.') : name);

/** Both spellings, for a filter. */
export const searchable = (name: string): string => `${name} ${readableHost(name)}`;

function readableLabel(label: string): string {
  if (!label.startsWith('xn--')) return label;
  const text = decoded(label.slice('xn--'.length));
  if (text === null || asciiOf(text) !== label) return label;
  const letters = text.replaceAll(/[0-9-]/g, '');
  // Digits of other writing systems look like other ones, or like dots.
  const isOneSystem = /^[\p{Letter}\p{Mark}]+$/u.test(letters) && WRITING_SYSTEMS.some((system) => system.test(letters));
  return isOneSystem && !LOOKALIKES.test(letters) ? text : label;
}

/** What browsers send for it, which is another label if this is not its canonical spelling; null if it can't be in a name. */
function asciiOf(label: string): string | null {
  const url = `http://${label}.test`;
  return URL.canParse(url) ? new URL(url).hostname.slice(0, -'.test'.length) : null;
}

/** Punycode (RFC 3492, sections 5 and 6.2). @returns null if it is malformed. */
function decoded(code: string): string | null {
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
