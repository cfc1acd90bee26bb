const UNRESERVED = /^[A-Za-z0-9\-._~]$/;
const SLASH = 0x2f;

/** A segment of a normalized path, and its range `[from, to)` in the path as it was sent, without slashes. */
export type Segment = { readonly text: string; readonly from: number; readonly to: number };

/**
 * The normalized path that blocks and rules match against (RFC 3986 6.2.2): escapes of unreserved characters decoded, other escapes in
 * upper case, `//` merged, dot segments removed. The path is forwarded as it was sent.
 */
export function normalizedPath(path: string): string {
  if (isNormalPath(path)) return path;
  const segments = segmentsOf(path);
  return `/${segments.map(({ text }) => text).join('/')}`;
}

/** Whether a path is certainly in normalized form. Quick; false negatives only cost the normalization. */
export function isNormalPath(path: string): boolean {
  return !path.includes('%') && !path.includes('//') && !path.includes('/.');
}

/**
 * The segments of a path's normalized form, in one pass. The last one is empty if the normalized form ends with a slash. `path` begins
 * with a slash.
 */
export function segmentsOf(path: string): Segment[] {
  const segments: Segment[] = [];
  for (let from = 1; from <= path.length; ) {
    const slash = path.indexOf('/', from);
    const to = slash < 0 ? path.length : slash;
    const text = normalizedSegment(path.slice(from, to));
    if (text === '..') segments.pop();
    else if (text !== '.' && text !== '') segments.push({ text, from, to });
    if (slash < 0 && (text === '' || text === '.' || text === '..')) segments.push({ text: '', from: to, to });
    from = to + 1;
  }
  return segments;
}

/** A path without the slashes at its end, in linear time: as an expression, `/+$` is quadratic in the slashes before something else. */
export function withoutEndSlashes(path: string): string {
  let end = path.length;
  while (path.charCodeAt(end - 1) === SLASH) end--;
  return path.slice(0, end);
}

/** A segment with its unreserved characters decoded and its other escapes in upper case. Incomplete escapes are left as they are. */
export function normalizedSegment(segment: string): string {
  let at = segment.indexOf('%');
  if (at < 0) return segment;
  let normal = '';
  let from = 0;
  for (; at >= 0; at = segment.indexOf('%', at + 1)) {
    const form = NORMAL.get(segment.slice(at, at + 3));
    if (form === undefined) continue;
    normal += segment.slice(from, at) + form;
    from = at + 3;
  }
  return normal + segment.slice(from);
}

/** Every escape, in either case, and its normalized form. */
const NORMAL: ReadonlyMap<string, string> = new Map(
  Array.from({ length: 256 }, (_, code) => code).flatMap((code) => {
    const [high = '', low = ''] = code.toString(16).padStart(2, '0');
    const char = String.fromCharCode(code);
    const normal = UNRESERVED.test(char) ? char : `%${high}${low}`.toUpperCase();
    return [high, high.toUpperCase()].flatMap((one) =>
      [low, low.toUpperCase()].map((other) => [`%${one}${other}`, normal] as [string, string]),
    );
  }),
);
