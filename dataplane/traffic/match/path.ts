/** The path of a target, without the query: `/a?b` → `/a`. `*` has the path `*`. */
export function rawPath(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

const UNRESERVED = /^[A-Za-z0-9\-._~]$/;

/**
 * The path that blocks and rules look at (RFC 3986 6.2.2): escapes of unreserved characters decoded,
 * other escapes in upper case, `//` merged, dot segments removed. What is forwarded stays as it was sent.
 */
export function normalizedPath(path: string): string {
  if (!needsWork(path)) return path;
  const decoded = path.replace(/%([0-9A-Fa-f]{2})/g, (sent, hex: string) => {
    const char = String.fromCharCode(Number.parseInt(hex, 16));
    return UNRESERVED.test(char) ? char : sent.toUpperCase();
  });
  const segments: string[] = [];
  const parts = decoded
    .replace(/\/{2,}/g, '/')
    .split('/')
    .slice(1);
  parts.forEach((part, index) => {
    const last = index === parts.length - 1;
    if (part === '..') segments.pop();
    else if (part !== '.') segments.push(part);
    if (last && (part === '.' || part === '..')) segments.push('');
  });
  return `/${segments.join('/')}`;
}

function needsWork(path: string): boolean {
  return path.includes('%') || path.includes('//') || path.includes('/.');
}

/**
 * How much of the path as it was sent stands for `prefix` in its normalized form, so that the rest can
 * be forwarded untouched; -1 when no cut of the sent path does.
 */
export function sentPrefixLength(path: string, prefix: string): number {
  if (path.startsWith(prefix) && !needsWork(path.slice(0, prefix.length))) return prefix.length;
  const whole = normalizedPath(path);
  const rest = whole.slice(prefix.length);
  for (let cut = path.indexOf('/', 1); cut >= 0; cut = path.indexOf('/', cut + 1)) {
    const tail = path.slice(cut);
    if (normalizedPath(path.slice(0, cut)) === prefix && normalizedPath(tail) === (rest === '' ? '/' : rest)) return cut;
  }
  return normalizedPath(path) === prefix ? path.length : -1;
}
