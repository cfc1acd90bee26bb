import type { Placeholder } from '../../../../shared/placeholders.ts';
import { targetParts, targetShape } from '../../../../shared/redirect-target.ts';
import type { Exchange } from '../../exchange/exchange.ts';

/** Where a request is sent, as the value of Location. `remainder` is what `*` stands for. */
export type Location = (x: Exchange, remainder: string) => string;

type Value = Location;

/** What stands for each placeholder. */
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

/** Compiles a target that the schema has judged. */
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

/** What would make `//` of the slash that a path begins with, for a browser (WHATWG URL 4.4) or after one decoding. */
const SECOND_SLASH = /^(?:[/\\]|%(?:2f|5c|7f|[01][0-9a-f]))+/i;

/** A path of this host, whatever the visitor has written: `//evil.test` and `/\evil.test` lead away from it (RFC 3986 4.2). */
const local = (location: string): string => `/${location.replace(SECOND_SLASH, '')}`;

/** Behind a host: without a slash, `.evil.test` or `@evil.test` would go on with it. */
const closed = (value: string): string => (value.startsWith('/') ? value : `/${value}`);

/** What a client sent may stand in a target, never end its line. */
const fieldSafe = (text: string): string => text.replace(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char));

const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';
const queryOf = (target: string): string => (target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');
