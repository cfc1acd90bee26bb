import { decodePunycode } from './punycode.ts';

/**
 * Names of hosts as their owners write them. Who chooses a name must not be able to have it read as another, so a name that could be
 * mistaken stays in ASCII (Unicode Technical Standard 39, UTS 46).
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
  const text = decodePunycode(label.slice('xn--'.length));
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
