import { isNormalPath, normalizedPath } from '../../../shared/path.ts';

/** The path of a target, without the query: `/a?b` → `/a`. `*` has the path `*`. */
export function rawPath(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/**
 * How much of the path as it was sent stands for `prefix` in its normalized form, so that the rest can
 * be forwarded untouched; -1 when no cut of the sent path does.
 */
export function sentPrefixLength(path: string, prefix: string): number {
  if (path.startsWith(prefix) && isNormalPath(path.slice(0, prefix.length))) return prefix.length;
  const whole = normalizedPath(path);
  const rest = whole.slice(prefix.length);
  for (let cut = path.indexOf('/', 1); cut >= 0; cut = path.indexOf('/', cut + 1)) {
    const tail = path.slice(cut);
    if (normalizedPath(path.slice(0, cut)) === prefix && normalizedPath(tail) === (rest === '' ? '/' : rest)) return cut;
  }
  return normalizedPath(path) === prefix ? path.length : -1;
}
