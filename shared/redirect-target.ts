import { PLACEHOLDERS, type Placeholder } from './placeholders.ts';

/** A piece of a redirect's target: literal text or a placeholder. */
export type TargetPart = { readonly text: string } | { readonly placeholder: Placeholder };

/**
 * How to build a location so that a client cannot choose its host. `local`: a path on this host, which may begin with text from the
 * client. `url`: `open` is the part that must begin with a slash, so that it cannot extend the host. `fixed`: the site's own text decides
 * where it leads.
 */
export type TargetShape = { readonly kind: 'local' | 'fixed' } | { readonly kind: 'url'; readonly open: number };

/** The beginning of a URL with a host; browsers treat a backslash as a slash (WHATWG URL 4.4). */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** The beginning of a path whose next characters browsers and servers cannot turn into `//`. */
const BARE_SLASH = /^[/\\](?:[/\\]|%2f|%5c|%7f|%[01][0-9a-f])*$/i;

/** Braces around anything but a placeholder are literal text. */
export function targetParts(target: string): TargetPart[] {
  return target
    .split(/(\{[a-z.]+\})/)
    .filter((part) => part !== '')
    .map((part) => {
      const placeholder = PLACEHOLDERS.find((known) => part === `{${known}}`);
      return placeholder === undefined ? { text: part } : { placeholder };
    });
}

/** The form of a target; a string is the error. */
export function targetShape(parts: readonly TargetPart[]): TargetShape | string {
  const [first] = parts;
  if (first === undefined || 'placeholder' in first) return { kind: 'local' };
  if (parts.every((part) => 'text' in part)) return { kind: 'fixed' };
  const begin = AUTHORITY.exec(first.text)?.[0];
  if (begin !== undefined) return shapeOfUrl(parts, begin.length);
  if (SCHEME.test(first.text)) return 'a URL with placeholders needs "//" and a host after its scheme';
  return { kind: BARE_SLASH.test(first.text) ? 'local' : 'fixed' };
}

/** `from`: where the host begins in the first part. */
function shapeOfUrl(parts: readonly TargetPart[], from: number): TargetShape | string {
  let named = false;
  for (const [index, part] of parts.entries()) {
    if ('text' in part) {
      const text = index === 0 ? part.text.slice(from) : part.text;
      const end = text.search(/[/\\?#]/);
      named ||= end !== 0 && text !== '';
      if (end >= 0) return named ? { kind: 'fixed' } : NO_HOST;
    } else if (part.placeholder === 'host' || part.placeholder === 'http.request.host') named = true;
    else return named ? { kind: 'url', open: index } : NO_HOST;
  }
  return { kind: 'fixed' };
}

const NO_HOST = 'a client must not be able to choose the host of a redirect: write the host, or {host} for the requested one';

/** What is wrong with the target of a redirect; undefined if it is valid. */
export function faultOfTarget(target: string): string | undefined {
  const shape = targetShape(targetParts(target));
  return typeof shape === 'string' ? shape : undefined;
}
