const UNRESERVED = /^[A-Za-z0-9\-._~]$/;

/**
 * The path that blocks and rules look at (RFC 3986 6.2.2): escapes of unreserved characters decoded,
 * other escapes in upper case, `//` merged, dot segments removed. What is forwarded stays as it was sent.
 */
export function normalizedPath(path: string): string {
  if (isNormalPath(path)) return path;
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

/** Whether `normalizedPath` would give the path back; quick, and wrong only towards doing the work. */
export function isNormalPath(path: string): boolean {
  return !path.includes('%') && !path.includes('//') && !path.includes('/.');
}
