/** Decides which names are never served. */
export type Hidden = (names: readonly string[]) => boolean;

/** `patterns` are names, or patterns as in a Caddyfile: `*`, `?`, and classes such as `[a-z]` or `[^0-9]`. */
export function compileHidden(patterns: readonly string[], dotFiles: boolean): Hidden {
  const tests = patterns.map(compilePattern);
  return (names) =>
    names.some((name, at) => {
      if (!dotFiles && name.startsWith('.') && !(at === 0 && name === '.well-known')) return true;
      return tests.some((test) => test(name));
    });
}

type OneCharacter = (char: string) => boolean;
const MANY = '*';

/** A name is also hidden by itself: it may have brackets. */
function compilePattern(pattern: string): (name: string) => boolean {
  const parts = /[*?[]/.test(pattern) ? partsOf(pattern) : null;
  return parts === null ? (name) => name === pattern : (name) => name === pattern || matches([...name], parts);
}

/** null if a class is malformed: the pattern then means only itself. */
function partsOf(pattern: string): (OneCharacter | typeof MANY)[] | null {
  const parts: (OneCharacter | typeof MANY)[] = [];
  for (let rest = pattern; rest !== ''; ) {
    const [written = '', negated, inside] = /^\[(\^?)((?:[^\]-](?:-[^\]-])?)+)\]/u.exec(rest) ?? /^[^[]/u.exec(rest) ?? [];
    if (written === '') return null;
    if (written === MANY) {
      if (parts.at(-1) !== MANY) parts.push(MANY);
    } else if (written === '?') parts.push(() => true);
    else if (inside === undefined) parts.push((char) => char === written);
    else parts.push(classOf(inside, negated === '^'));
    rest = rest.slice(written.length);
  }
  return parts;
}

function classOf(inside: string, negated: boolean): OneCharacter {
  const ranges = [...inside.matchAll(/(.)(?:-(.))?/gsu)].map(([, first = '', last = first]) => [codeOf(first), codeOf(last)] as const);
  return (char) => negated !== ranges.some(([first, last]) => first <= codeOf(char) && codeOf(char) <= last);
}

const codeOf = (char: string): number => char.codePointAt(0) as number;

/** Only the last `*` takes more characters when the rest does not match. */
function matches(name: readonly string[], parts: readonly (OneCharacter | typeof MANY)[]): boolean {
  let at = 0;
  let part = 0;
  let many = -1;
  for (let from = 0; at < name.length; ) {
    const test = parts[part];
    if (test === MANY) {
      many = part++;
      from = at;
    } else if (test?.(name[at] as string)) {
      at++;
      part++;
    } else if (many < 0) return false;
    else {
      part = many + 1;
      at = ++from;
    }
  }
  return parts.slice(part).every((test) => test === MANY);
}
