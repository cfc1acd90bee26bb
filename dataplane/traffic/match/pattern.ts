import type { HandleSpec, RouteSpec } from '../../../shared/route.ts';
import { normalizedPath } from '../../../shared/values/path.ts';

/** A path pattern: exact, or everything below a prefix. `/api/*` matches `/api/` and `/api/x`, but not `/api`. */
export type Pattern = {
  readonly text: string;
  matches(path: string): boolean;
  /** The part that handle_path strips, without a trailing slash: `/api`. */
  readonly prefix: string;
};

/** Whether the patterns of a site are compared case-insensitively. */
export const foldsPaths = ({ path_case }: Pick<RouteSpec, 'path_case'>): boolean => path_case === 'insensitive';

/** Compiles a pattern in the normal form of the paths that it is compared with. `folds`: case-insensitive. */
export function compilePattern(written: string, folds = false): Pattern {
  const text = foldedPattern(written, folds);
  const matches = matcherFor(text);
  const prefix = (isBelow(text) ? text.slice(0, -1) : text).replace(/\/$/, '');
  return { text, matches: folds ? (path) => matches(folded(path)) : matches, prefix };
}

/** Whether a pattern matches everything with its prefix. */
export const isBelow = (pattern: string): boolean => pattern.endsWith('*');

function matcherFor(text: string): (path: string) => boolean {
  if (!isBelow(text)) return (path) => path === text;
  const start = text.slice(0, -1);
  return (path) => path.startsWith(start);
}

/** The form in which a pattern is compared. */
export function foldedPattern(written: string, folds: boolean): string {
  const text = written.startsWith('/') ? normalizedPath(written) : written;
  return folds ? text.toLowerCase() : text;
}

let lastPath = '';
let lastFolded = '';

/**
 * A path in lower case, with letters beyond ASCII unchanged and the same length. The patterns of a site need it for the same path one after
 * the other, so the last result is kept.
 */
export function folded(path: string): string {
  if (path !== lastPath) {
    lastPath = path;
    lastFolded = path.toLowerCase();
  }
  return lastFolded;
}

/** The part of a matched path that `*` matches, without a leading slash. Empty for an exact pattern. */
export function remainderOf(pattern: Pattern, path: string): string {
  return isBelow(pattern.text) ? path.slice(pattern.text.length - 1).replace(/^\//, '') : '';
}

/** What `*` of a block's pattern matches in the path of a request; empty for the site itself. */
export function remainderIn(route: RouteSpec, handle: HandleSpec | null): (x: { readonly path: string }) => string {
  const path = handle?.path ?? null;
  if (path === null) return () => '';
  const pattern = compilePattern(path, foldsPaths(route));
  return (x) => remainderOf(pattern, x.path);
}
