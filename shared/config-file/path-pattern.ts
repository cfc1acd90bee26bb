import { accepted, type Parsed, refused } from '../values/parsed.ts';
import { normalizedPath } from '../values/path.ts';
import { said } from './quote.ts';

/** The longest pattern. Characters. */
const LONGEST = 8_192;

/**
 * Reads a path pattern: exact (`/status`), or everything below a prefix (`/api/*`). It is compared with the
 * path in its normal form (RFC 3986 6.2.2), so only a pattern in that form can ever match.
 */
export function parsePathPattern(text: string): Parsed<string> {
  if (text === '*') return refused('every path is written /*');
  if (!text.startsWith('/')) return refused('a path pattern starts with "/", for example /api/*');
  if (text.length > LONGEST) return refused(`a path pattern is at most ${LONGEST} characters long`);
  if (/[?#]/.test(text)) return refused('a path pattern has no query and no fragment');
  if (text.slice(0, -1).includes('*')) return refused('"*" stands only at the end of a path pattern, as in /api/*');
  const normal = normalized(text);
  return normal === text ? accepted(text) : refused(`paths are compared in their normal form: write ${said(normal)}`);
}

/** Reads what a matcher takes besides patterns: what a path ends with (`*.php`) or, with a star at both ends, holds. */
export function parsePathPart(text: string): Parsed<string> {
  if (!text.startsWith('*')) return parsePathPattern(text);
  const part = text.slice(1, text.length > 1 && text.endsWith('*') ? -1 : undefined);
  if (part === '') return refused('every path is written /*');
  if (text.length > LONGEST) return refused(`a path pattern is at most ${LONGEST} characters long`);
  if (/[?#]/.test(part)) return refused('a path pattern has no query and no fragment');
  if (part.includes('*')) return refused('"*" stands only at the beginning and at the end, as in *.php and */admin/*');
  const normal = normalized(`/x${part}`).slice(2);
  return normal === part
    ? accepted(text)
    : refused(`paths are compared in their normal form: write ${said(text.replace(part, () => normal))}`);
}

/** Whether everything that `inner` matches is matched by `outer` as well. null matches every path. */
export function covers(outer: string | null, inner: string | null): boolean {
  if (outer === null || outer === '/*') return true;
  if (inner === null) return false;
  return outer.endsWith('*') ? inner.startsWith(outer.slice(0, -1)) : inner === outer;
}

/** What a visitor's browser would send for it, in the form in which paths are compared. */
function normalized(text: string): string {
  const encoded = text.replace(/[^\x21-\x7e]/gu, (char) =>
    Buffer.from(char)
      .toString('hex')
      .replace(/../g, (hex) => `%${hex.toUpperCase()}`),
  );
  return normalizedPath(encoded);
}
