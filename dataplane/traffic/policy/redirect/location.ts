import type { Placeholder } from '../../../../shared/placeholders.ts';
import { targetParts, targetShape } from '../../../../shared/redirect-target.ts';
import type { Exchange } from '../../exchange/exchange.ts';

/** The value of Location for a request. `remainder` is what `*` matched. */
export type Location = (x: Exchange, remainder: string) => string;

type Value = Location;

/** The value of each placeholder. */
const VALUES: Readonly<Record<Placeholder, Value>> = {
  'http.request.uri.path.remainder': (_, remainder) => remainder,
  remainder: (_, remainder) => remainder,
  'http.request.host': (x) => x.host,
  host: (x) => x.host,
  'http.request.uri.path': (x) => pathOf(x.target),
  path: (x) => pathOf(x.target),
  'http.request.uri.query': (x) => queryOf(x.target),
  query: (x) => queryOf(x.target),
  'http.request.uri': (x) => x.target,
  uri: (x) => x.target,
};

/** Compiles a target that the schema has validated. */
export function compileLocation(target: string): Location {
  const parts = targetParts(target);
  const shape = targetShape(parts);
  if (typeof shape === 'string') throw new Error(`the target of a redirect: ${shape}`);
  const open = shape.kind === 'url' ? shape.open : -1;
  const values = parts.map((part, index): string | Value => {
    if ('text' in part) return part.text;
    const value = VALUES[part.placeholder];
    return index === open ? (x, remainder) => closed(value(x, remainder)) : value;
  });
  const whole: Location = (x, remainder) =>
    fieldSafe(values.map((value) => (typeof value === 'string' ? value : value(x, remainder))).join(''));
  return shape.kind === 'local' ? (x, remainder) => local(whole(x, remainder)) : whole;
}

/** Characters that would turn the leading slash of a path into `//`, for a browser (WHATWG URL 4.4) or after one decoding. */
const SECOND_SLASH = /^(?:[/\\]|%(?:2f|5c|7f|[01][0-9a-f]))+/i;

/** A path on this host, whatever the visitor has sent: `//evil.test` and `/\evil.test` would lead to another host (RFC 3986 4.2). */
const local = (location: string): string => `/${location.replace(SECOND_SLASH, '')}`;

/** After a host: without a slash, `.evil.test` or `@evil.test` would continue the host name. */
const closed = (value: string): string => (value.startsWith('/') ? value : `/${value}`);

/** Client input may appear in a target but must never end the header line. */
const fieldSafe = (text: string): string => text.replace(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char));

const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';
const queryOf = (target: string): string => (target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');
