import { PLACEHOLDERS, type Placeholder } from './placeholders.ts';

/** A piece of a redirect's target: text as it was written, or a placeholder. */
export type TargetPart = { readonly text: string } | { readonly placeholder: Placeholder };

/**
 * How a location may be put together without leading anywhere that only its visitor has chosen:
 * - `local`: it is a path of this host, of which the visitor may have written the first characters;
 * - `url`: `open` is the part that has to begin with a slash, so that it can't go on with the host;
 * - `fixed`: what the site has written decides where it leads.
 */
export type TargetShape = { readonly kind: 'local' | 'fixed' } | { readonly kind: 'url'; readonly open: number };

/** The beginning of a URL with a host, also as browsers read backslashes (WHATWG URL 4.4). */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}/i;
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** A path of which nothing is written yet that browsers and servers would not take for a part of `//`. */
const BARE_SLASH = /^[/\\](?:[/\\]|%2f|%5c|%7f|%[01][0-9a-f])*$/i;

/** Braces around anything but a placeholder are plain text. */
export function targetParts(target: string): TargetPart[] {
  return target
    .split(/(\{[a-z.]+\})/)
    .filter((part) => part !== '')
    .map((part) => {
      const placeholder = PLACEHOLDERS.find((known) => part === `{${known}}`);
      return placeholder === undefined ? { text: part } : { placeholder };
    });
}

/** The shape of a target; a text is what is wrong with it. */
export function targetShape(parts: readonly TargetPart[]): TargetShape | string {
  const [first] = parts;
  if (first === undefined || 'placeholder' in first) return { kind: 'local' };
  if (parts.every((part) => 'text' in part)) return { kind: 'fixed' };
  const begin = AUTHORITY.exec(first.text)?.[0];
  if (begin !== undefined) return shapeOfUrl(parts, begin.length);
  if (SCHEME.test(first.text)) return 'a URL with placeholders has "//" and a host behind its scheme';
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

const NO_HOST = 'a visitor must not choose the host that a redirect leads to: write the host, or {host} for the one that was asked for';

/** What is wrong with the target of a redirect; undefined when it is right. */
export function faultOfTarget(target: string): string | undefined {
  const shape = targetShape(targetParts(target));
  return typeof shape === 'string' ? shape : undefined;
}
