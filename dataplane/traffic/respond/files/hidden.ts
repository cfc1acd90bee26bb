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

/** A character by its code point, any characters, or one of several. */
type Part = number | ((code: number) => boolean);
const MANY = -1;

/** A name is also hidden by itself: it may have brackets. */
function compilePattern(pattern: string): (name: string) => boolean {
  const parts = /[*?[]/.test(pattern) ? partsOf(pattern) : null;
  return parts === null ? (name) => name === pattern : (name) => name === pattern || matches(name, parts);
}

/** null if a class is malformed: the pattern then means only itself. */
function partsOf(pattern: string): Part[] | null {
  const parts: Part[] = [];
  for (let rest = pattern; rest !== ''; ) {
    const [written = '', negated, inside] = /^\[(\^?)((?:[^\]-](?:-[^\]-])?)+)\]/u.exec(rest) ?? /^[^[]/u.exec(rest) ?? [];
    if (written === '') return null;
    if (written === '*') {
      if (parts.at(-1) !== MANY) parts.push(MANY);
    } else if (written === '?') parts.push(() => true);
    else if (inside === undefined) parts.push(codeOf(written));
    else parts.push(classOf(inside, negated === '^'));
    rest = rest.slice(written.length);
  }
  return parts;
}

function classOf(inside: string, negated: boolean): (code: number) => boolean {
  const ranges = [...inside.matchAll(/(.)(?:-(.))?/gsu)].map(([, first = '', last = first]) => [codeOf(first), codeOf(last)] as const);
  return (code) => negated !== ranges.some(([first, last]) => first <= code && code <= last);
}

const codeOf = (char: string, at = 0): number => char.codePointAt(at) as number;

/** Only the last `*` takes more characters when the rest does not match. */
function matches(name: string, parts: readonly Part[]): boolean {
  let at = 0;
  let part = 0;
  /** Where what follows the last `*` is looked for. */
  let from = 0;
  let afterMany = -1;
  while (at < name.length) {
    const wanted = parts[part];
    if (wanted === MANY) {
      afterMany = ++part;
      from = at;
      continue;
    }
    const code = codeOf(name, at);
    if (wanted === code || (typeof wanted === 'function' && wanted(code))) {
      at += widthOf(code);
      part++;
    } else if (afterMany < 0) return false;
    else {
      part = afterMany;
      from += widthOf(codeOf(name, from));
      at = from;
    }
  }
  return part === parts.length || (part === parts.length - 1 && parts[part] === MANY);
}

const widthOf = (code: number): number => (code > 0xffff ? 2 : 1);
