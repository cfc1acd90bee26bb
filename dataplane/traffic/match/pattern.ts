import { normalizedPath } from '../../../shared/path.ts';

/** A path pattern: exact, or everything below a prefix. `/api/*` matches `/api/` and `/api/x`, not `/api`. */
export type Pattern = {
  readonly text: string;
  matches(path: string): boolean;
  /** What handle_path takes off, without a trailing slash: `/api`. */
  readonly prefix: string;
};

/** A pattern is brought into the normal form of the paths that it is compared with. */
export function compilePattern(written: string): Pattern {
  const text = written.startsWith('/') ? normalizedPath(written) : written;
  if (!text.endsWith('*')) return { text, matches: (path) => path === text, prefix: text.replace(/\/$/, '') };
  const start = text.slice(0, -1);
  return { text, matches: (path) => path.startsWith(start), prefix: start.replace(/\/$/, '') };
}

/** The part of a matched path that `*` stands for, without a leading slash; empty for an exact pattern. */
export function remainderOf(pattern: Pattern, path: string): string {
  return pattern.text.endsWith('*') ? path.slice(pattern.text.length - 1).replace(/^\//, '') : '';
}
