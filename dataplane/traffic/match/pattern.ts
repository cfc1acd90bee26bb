import type { RouteSpec } from '../../../shared/route.ts';
import { normalizedPath } from '../../../shared/values/path.ts';

/** A path pattern: exact, or everything below a prefix. `/api/*` matches `/api/` and `/api/x`, not `/api`. */
export type Pattern = {
  readonly text: string;
  matches(path: string): boolean;
  /** What handle_path takes off, without a trailing slash: `/api`. */
  readonly prefix: string;
};

/** Whether the patterns of a site are compared without regard to the case of letters. */
export const foldsPaths = ({ path_case }: Pick<RouteSpec, 'path_case'>): boolean => path_case === 'insensitive';

/** A pattern is brought into the normal form of the paths that it is compared with. `folds`: without regard to the case of letters. */
export function compilePattern(written: string, folds = false): Pattern {
  const text = foldedPattern(written, folds);
  const matches = matcherFor(text);
  const prefix = (isBelow(text) ? text.slice(0, -1) : text).replace(/\/$/, '');
  return { text, matches: folds ? (path) => matches(folded(path)) : matches, prefix };
}

/** Whether a pattern means everything that begins with it. */
export const isBelow = (pattern: string): boolean => pattern.endsWith('*');

function matcherFor(text: string): (path: string) => boolean {
  if (!isBelow(text)) return (path) => path === text;
  const start = text.slice(0, -1);
  return (path) => path.startsWith(start);
}

/** As a pattern is compared. */
export function foldedPattern(written: string, folds: boolean): string {
  const text = written.startsWith('/') ? normalizedPath(written) : written;
  return folds ? text.toLowerCase() : text;
}

let lastPath = '';
let lastFolded = '';

/** A path in lower case, letters beyond ASCII left as they are; its length stays. The patterns of a site ask for the same one, one after the other. */
export function folded(path: string): string {
  if (path !== lastPath) {
    lastPath = path;
    lastFolded = path.toLowerCase();
  }
  return lastFolded;
}

/** The part of a matched path that `*` stands for, without a leading slash; empty for an exact pattern. */
export function remainderOf(pattern: Pattern, path: string): string {
  return isBelow(pattern.text) ? path.slice(pattern.text.length - 1).replace(/^\//, '') : '';
}
