import { normalizedSegment } from '../../../shared/path.ts';

/** What makes a path mean one thing here and another behind us: dot segments, and slashes in disguise. */
const DISGUISE = /%2f|%5c|\\|(?:\/|%2f|%5c|\\)(?:\.|%2e){1,2}(?:[/;\\]|%2f|%5c|$)/i;

/** Bytes of a path that is read in all these ways; there are up to 64, and a longer one would keep the worker for milliseconds. */
export const LONGEST_READ = 2_048;

/** Whether someone behind us may read another path than the one that the blocks were asked about. */
export const isAmbiguous = (path: string): boolean => DISGUISE.test(path);

/**
 * Every path that someone behind us may read a sent path as: with the disguised slashes taken for slashes
 * or not, dot segments removed or not, `;` cut off a dot segment or not, empty segments merged or not.
 */
export function readingsOf(path: string): ReadonlySet<string> {
  const decoded = normalizedSegment(path);
  const slashed = [decoded];
  for (const disguise of [/%2F/g, /%5C/g, /\\/g]) for (const reading of [...slashed]) slashed.push(reading.replace(disguise, '/'));
  const readings = new Set<string>();
  for (const reading of slashed)
    for (const bare of [reading, reading.replace(/(\/\.{1,2});[^/]*/g, '$1')])
      for (const merged of [bare, bare.replace(/\/{2,}/g, '/')]) {
        readings.add(merged);
        readings.add(withoutDots(merged));
      }
  return readings;
}

/** RFC 3986 5.2.4, empty segments kept. */
function withoutDots(path: string): string {
  const parts = path.split('/').slice(1);
  const kept: string[] = [];
  parts.forEach((part, index) => {
    if (part === '..') kept.pop();
    else if (part !== '.') kept.push(part);
    if (index === parts.length - 1 && (part === '.' || part === '..')) kept.push('');
  });
  return `/${kept.join('/')}`;
}
