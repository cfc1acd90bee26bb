import { isNormalPath, normalizedSegment, type Segment, segmentsOf } from '../../../shared/values/path.ts';

/** The path of a target, without the query: `/a?b` → `/a`. `*` has the path `*`. */
export function rawPath(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/**
 * How many bytes of the path as it was sent correspond to `prefix`, the beginning of its normal form, so that exactly these are removed and
 * the rest is forwarded unchanged. -1 if the normal form begins differently. `prefix` begins with a slash and does not end with one.
 * `folds`: it is in lower case and compared case-insensitively.
 */
export function sentPrefixLength(path: string, prefix: string, folds = false): number {
  if (isNormalPath(path)) return (folds ? path.toLowerCase() : path).startsWith(prefix) ? prefix.length : -1;
  let at = 0;
  for (const segment of segmentsOf(path)) {
    const text = folds ? segment.text.toLowerCase() : segment.text;
    if (prefix[at] !== '/') return -1;
    at++;
    const wanted = prefix.length - at;
    if (text.length > wanted) return prefix.endsWith(text.slice(0, wanted)) ? sentLength(path, segment, wanted) : -1;
    if (!prefix.startsWith(text, at)) return -1;
    at += text.length;
    // No later `..` removes this segment, so it is part of the normal form.
    if (at === prefix.length) return segment.to;
  }
  return -1;
}

/** The target as it was sent without the `prefix` of its path, or unchanged if its path does not begin with the prefix. */
export function withoutPrefix(target: string, prefix: string, folds: boolean): string {
  const cut = sentPrefixLength(rawPath(target), prefix, folds);
  const rest = cut < 0 ? target : target.slice(cut);
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Where the first `wanted` characters of a segment's normal form end in the path as it was sent. An escape is never split. */
function sentLength(path: string, { from, to }: Segment, wanted: number): number {
  let at = from;
  for (let seen = 0; seen < wanted && at < to; ) {
    const unit = /^%[0-9A-Fa-f]{2}/.test(path.slice(at, at + 3)) ? 3 : 1;
    seen += normalizedSegment(path.slice(at, at + unit)).length;
    at += unit;
  }
  return at;
}
