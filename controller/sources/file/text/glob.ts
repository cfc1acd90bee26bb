import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { isMissing, reasonOf } from './read.ts';

/** Whether a path is a pattern: `*` matches any part of a name, `?` one character of it. */
export const isGlob = (path: string): boolean => /[*?]/.test(path);

/**
 * The paths that match a pattern, in order of their names. A name that begins with a dot only matches a pattern that does. Refused if the
 * directory before the first wildcard can't be listed. `looked` is called for each directory that was listed.
 */
export function expandGlob(pattern: string, root: string, looked: (directory: string) => void): Parsed<readonly string[]> {
  const segments = pattern.split('/');
  const wild = segments.findIndex(isGlob);
  let found = [segments.slice(0, wild).join('/') || (pattern.startsWith('/') ? '/' : '.')];
  for (const [depth, segment] of segments.slice(wild).entries()) {
    const next: string[] = [];
    for (const directory of found) {
      const names = isGlob(segment) ? namesIn(directory, segment, root, looked) : accepted([segment]);
      if (!names.ok) {
        if (depth === 0) return refused(`${directory}: ${names.reason}`);
        continue;
      }
      for (const name of names.value) next.push(joined(directory, name));
    }
    found = next;
  }
  return accepted(found);
}

function namesIn(directory: string, segment: string, root: string, looked: (directory: string) => void): Parsed<string[]> {
  looked(directory);
  try {
    const names = readdirSync(resolve(root, directory)).filter(
      (name) => (segment.startsWith('.') || !name.startsWith('.')) && matches(segment, name),
    );
    return accepted(names.sort());
  } catch (error) {
    return refused(isMissing(error) ? 'there is no such directory' : reasonOf(error));
  }
}

function joined(directory: string, name: string): string {
  if (directory === '.') return name;
  return directory === '/' ? `/${name}` : `${directory}/${name}`;
}

/** Backtracks only to the last `*`, so that the time is at most the product of both lengths. */
function matches(pattern: string, name: string): boolean {
  let [at, inName] = [0, 0];
  let [star, afterStar] = [-1, 0];
  while (inName < name.length) {
    if (pattern[at] === '*') [star, afterStar, at] = [at, inName, at + 1];
    else if (pattern[at] === '?' || pattern[at] === name[inName]) [at, inName] = [at + 1, inName + 1];
    else if (star >= 0) [at, afterStar, inName] = [star + 1, afterStar + 1, afterStar + 1];
    else return false;
  }
  while (pattern[at] === '*') at++;
  return at === pattern.length;
}
