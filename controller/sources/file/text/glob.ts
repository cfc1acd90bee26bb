import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { accepted, type Parsed, refused } from '../../../../shared/values/parsed.ts';
import { isMissing, reasonOf } from './read.ts';

/** Whether a path is a pattern: `*` stands for any part of a name, `?` for one character of it. */
export const isGlob = (path: string): boolean => /[*?]/.test(path);

/**
 * The paths that a pattern names, in the order of their names. A name that begins with a dot is found only by a
 * pattern that does. Refused where the directory before the first wildcard can't be listed. `looked` is told each
 * directory that was.
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

/** Goes back only to the last `*`, so that no pattern takes longer than the product of both lengths. */
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
