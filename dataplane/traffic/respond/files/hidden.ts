/** Decides which names are never served. */
export type Hidden = (names: readonly string[]) => boolean;

/** `patterns` are names in which `*` matches any characters. */
export function compileHidden(patterns: readonly string[], dotFiles: boolean): Hidden {
  const tests = patterns.map((pattern) => {
    const parts = pattern.split('*');
    return parts.length === 1 ? (name: string) => name === pattern : (name: string) => matches(name, parts);
  });
  return (names) =>
    names.some((name, at) => {
      if (!dotFiles && name.startsWith('.') && !(at === 0 && name === '.well-known')) return true;
      return tests.some((test) => test(name));
    });
}

/** Takes the leftmost place for each part between two `*`, so it never goes back. */
function matches(name: string, parts: readonly string[]): boolean {
  const first = parts[0] as string;
  const last = parts.at(-1) as string;
  if (name.length < first.length + last.length || !name.startsWith(first) || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let at = first.length;
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at);
    if (found < 0 || found + part.length > end) return false;
    at = found + part.length;
  }
  return true;
}
