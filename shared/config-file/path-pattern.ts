import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { normalizedPath } from '../values/path.ts';
import { unquoted } from './quote.ts';

/** The longest pattern. Characters. */
const LONGEST = 8_192;

/**
 * Reads a path pattern: exact (`/status`), or everything below a prefix (`/api/*`). It is compared with the normalized path (RFC 3986
 * 6.2.2), so only a normalized pattern can match.
 */
export function parsePathPattern(text: string): Parsed<string> {
  if (text === '*') return refused('write /* to match every path');
  if (!text.startsWith('/')) return refused('a path pattern must start with "/", for example /api/*');
  if (text.length > LONGEST) return refused(`a path pattern is at most ${LONGEST} characters long`);
  if (/[?#]/.test(text)) return refused('a path pattern must not have a query or fragment');
  if (text.slice(0, -1).includes('*'))
    return refused('"*" is allowed only at the end of a path pattern, as in /api/*; for other patterns, write a matcher with path_regexp');
  const normal = normalized(text);
  return normal === text ? accepted(text) : refused(`paths are compared in normalized form: write ${unquoted(normal)}`);
}

const STARS = '"*" is allowed only at the beginning and the end, as in *.php, */admin/* and /api/*';

/** Reads the other forms of a matcher: a suffix (`*.php`), or a substring with a star at both ends. */
export function parsePathPart(text: string): Parsed<string> {
  if (/^\/[^*]*\*./.test(text)) return refused(`${STARS}; path_regexp takes any pattern`);
  if (!text.startsWith('*')) return parsePathPattern(text);
  const closed = text.length > 1 && text.endsWith('*');
  const part = text.slice(1, closed ? -1 : undefined);
  if (part === '') return refused('write /* to match every path');
  if (text.length > LONGEST) return refused(`a path pattern is at most ${LONGEST} characters long`);
  if (/[?#]/.test(part)) return refused('a path pattern must not have a query or fragment');
  if (part.includes('*')) return refused(`${STARS}; path_regexp takes any pattern`);
  // What follows a star belongs to the last segment: `*/.*` matches the names that begin with a dot.
  const whole = normalized(`/x${part}${closed ? 'x' : ''}`);
  const normal = whole.slice(2, closed ? -1 : undefined);
  if (normal === part) return accepted(text);
  // Nearly every path has a slash.
  return normal === '' || normal === '/' || !whole.startsWith('/x')
    ? refused('no path has this part, because paths are compared in normalized form')
    : refused(`paths are compared in normalized form: write ${unquoted(text.replace(part, () => normal))}`);
}

/** Whether `outer` matches everything that `inner` matches. null matches every path. */
export function covers(outer: string | null, inner: string | null): boolean {
  if (outer === null || outer === '/*') return true;
  if (inner === null) return false;
  return outer.endsWith('*') ? inner.startsWith(outer.slice(0, -1)) : inner === outer;
}

/** The pattern as a browser would send it, in normalized form. */
function normalized(text: string): string {
  const encoded = text.replace(/[^\x21-\x7e]/gu, (char) =>
    Buffer.from(char)
      .toString('hex')
      .replace(/../g, (hex) => `%${hex.toUpperCase()}`),
  );
  return normalizedPath(encoded);
}
