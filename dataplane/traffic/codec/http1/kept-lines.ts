import { withoutOws } from './protocols.ts';

/** `kept` lines without the fields of these names (lower case). */
export function withoutFields(kept: string, names: ReadonlySet<string>): string {
  return kept
    .split('\r\n')
    .filter((line) => line === '' || !names.has(line.slice(0, line.indexOf(':')).toLowerCase()))
    .join('\r\n');
}

/** The value of a field in `kept` lines, or null. Slow: for fields that are rarely needed. */
export function fieldIn(kept: string, name: string): string | null {
  const lower = kept.toLowerCase();
  const wanted = `${name}:`;
  let line = lower.startsWith(wanted) ? 0 : lower.indexOf(`\r\n${wanted}`);
  if (line < 0) return null;
  if (line > 0 || !lower.startsWith(wanted)) line += 2;
  return withoutOws(kept.slice(line + wanted.length, kept.indexOf('\r\n', line)));
}

/** The values of all lines of a field in `kept` lines; `name` in lower case. */
export function fieldsIn(kept: string, name: string): string[] {
  return kept.split('\r\n').flatMap((line) => {
    const colon = line.indexOf(':');
    return colon === name.length && line.slice(0, colon).toLowerCase() === name ? [withoutOws(line.slice(colon + 1))] : [];
  });
}
