import { parseTemplate, type TemplatePart } from './placeholders/template.ts';

/**
 * How to build a location so that a client cannot choose its host. `local`: a path on this host, which may begin with text from the
 * client. `url`: `open` is the part that must begin with a slash, so that it cannot extend the host. `fixed`: the site's own text decides
 * where it leads.
 */
export type TargetShape = { readonly kind: 'local' | 'fixed' } | { readonly kind: 'url'; readonly open: number };

/** The beginning of a URL with a host; browsers treat a backslash as a slash (WHATWG URL 4.4). */
const AUTHORITY = /^(?:[a-z][a-z0-9+.-]*:)?[/\\]{2}/i;
const AFTER_SCHEME = /^:[/\\]{2}/;
/** Placeholders whose values come from the requested host, which is routed here. */
const OF_HOST: ReadonlySet<string> = new Set([
  'http.request.host',
  'http.request.hostport',
  'http.request.host.labels.',
  'http.request.port',
]);
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;
/** The beginning of a path whose next characters browsers and servers cannot turn into `//`. */
const BARE_SLASH = /^[/\\](?:[/\\]|%2f|%5c|%7f|%[01][0-9a-f])*$/i;

/** The form of a target; a string is the error. */
export function targetShape(parts: readonly TemplatePart[]): TargetShape | string {
  const [first, second] = parts;
  if (first === undefined) return { kind: 'local' };
  if ('placeholder' in first) {
    const isScheme = first.placeholder.name === 'http.request.scheme' && second !== undefined && 'text' in second;
    const begin = isScheme ? AFTER_SCHEME.exec(second.text)?.[0] : undefined;
    return begin === undefined ? { kind: 'local' } : shapeOfUrl(parts, 1, begin.length);
  }
  if (parts.every((part) => 'text' in part)) return { kind: 'fixed' };
  const begin = AUTHORITY.exec(first.text)?.[0];
  if (begin !== undefined) return shapeOfUrl(parts, 0, begin.length);
  if (SCHEME.test(first.text)) return 'a URL with placeholders needs "//" and a host after its scheme';
  return { kind: BARE_SLASH.test(first.text) ? 'local' : 'fixed' };
}

/** The host begins at `from` in the part at `start`. */
function shapeOfUrl(parts: readonly TemplatePart[], start: number, from: number): TargetShape | string {
  let named = false;
  for (const [index, part] of parts.entries()) {
    if (index < start) continue;
    if ('text' in part) {
      const text = index === start ? part.text.slice(from) : part.text;
      const end = text.search(/[/\\?#]/);
      named ||= end !== 0 && text !== '';
      if (end >= 0) return named ? { kind: 'fixed' } : NO_HOST;
    } else if (OF_HOST.has(part.placeholder.name)) named ||= part.placeholder.name !== 'http.request.port';
    else return named ? { kind: 'url', open: index } : NO_HOST;
  }
  return { kind: 'fixed' };
}

const NO_HOST = 'a client must not be able to choose the host of a redirect: write the host, or {host} for the requested one';

/** What is wrong with the target of a redirect, apart from its placeholders; undefined if it is valid. */
export function faultOfTarget(target: string): string | undefined {
  const template = parseTemplate(target, 'request');
  if ('fault' in template) return undefined;
  const shape = targetShape(template.parts);
  return typeof shape === 'string' ? shape : undefined;
}
