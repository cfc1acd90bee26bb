import { type Placeholder, templateParts } from '../../../../shared/placeholders/template.ts';
import { targetShape } from '../../../../shared/redirect-target.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { compileParts, LONGEST_FIELD_VALUE } from '../../exchange/values/template.ts';
import { encodedComponent, urlSafe } from '../../exchange/values/url-encoding.ts';

/** The value of Location for a request; null if it would be too long. */
export type Location = (x: Exchange) => string | null;

/** Compiles a target that the schema has validated. `remainder` is what `*` matched. */
export function compileLocation(target: string, remainder: (x: EvaluatedRequest) => string): Location {
  const parts = templateParts(Buffer.from(target).toString('latin1'), 'request');
  const shape = targetShape(parts);
  if (typeof shape === 'string') throw new Error(`the target of a redirect: ${shape}`);
  const opening = shape.kind === 'url' ? parts[shape.open] : undefined;
  const open = opening !== undefined && 'placeholder' in opening ? opening.placeholder : null;
  const encode = (value: string, placeholder: Placeholder): string => {
    const fit = encodedComponent(value, placeholder);
    return placeholder === open ? closed(fit) : fit;
  };
  const { evaluate } = compileParts(parts, { scope: 'request', longest: LONGEST_FIELD_VALUE, unsafe: null, encode, remainder });
  const whole: Location = (x) => {
    const location = evaluate(x, NO_ANSWER);
    return location === null ? null : urlSafe(location);
  };
  if (shape.kind !== 'local') return whole;
  return (x) => {
    const location = whole(x);
    return location === null ? null : local(location);
  };
}

/** Characters that would turn the leading slash of a path into `//`, for a browser (WHATWG URL 4.4) or after one decoding. */
const SECOND_SLASH = /^(?:[/\\]|%(?:2f|5c|7f|[01][0-9a-f]))+/i;

/** A path on this host, for any path from a client: `//evil.test` and `/\evil.test` would lead to another host (RFC 3986 4.2). */
const local = (location: string): string => `/${location.replace(SECOND_SLASH, '')}`;

/** After a host: without a slash, `.evil.test` or `@evil.test` would continue the host name. */
const closed = (value: string): string => (value.startsWith('/') ? value : `/${value}`);
