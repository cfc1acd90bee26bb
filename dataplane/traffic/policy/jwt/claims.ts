import type { RouteSpec } from '../../../../shared/route.ts';

type Spec = NonNullable<RouteSpec['jwt']>;
type Claims = Readonly<Record<string, unknown>>;
/** Seconds since 1970 from and until which a token is valid, or why it is not. */
export type ValidityPeriod = { readonly from: number; readonly until: number } | { readonly fault: string };

/** A field value without what could end or split the field. */
const SAFE = /^[\x21-\x7e](?:[\x20-\x7e]{0,2046}[\x21-\x7e])?$/;

/** Whether and when the token is meant for this site (RFC 7519 4.1). */
export function periodOf(claims: Claims, { issuers, audiences, clock_skew_secs: skew }: Spec): ValidityPeriod {
  const { exp, nbf } = owned(claims, 'exp', 'nbf', 'iss', 'aud');
  if (!isTime(exp)) return { fault: 'the token has no exp' };
  if (nbf !== undefined && !isTime(nbf)) return { fault: 'nbf is not a time' };
  const { iss, aud } = owned(claims, 'iss', 'aud');
  if (issuers.length > 0 && !(typeof iss === 'string' && issuers.includes(iss))) return { fault: 'iss is not an accepted issuer' };
  if (audiences.length > 0 && !elementsOf(aud).some((one) => audiences.includes(one))) return { fault: 'aud names no accepted audience' };
  return { from: nbf === undefined ? Number.NEGATIVE_INFINITY : nbf - skew, until: exp + skew };
}

/** The first required claim that is missing; undefined if there is none. */
export const missingClaim = (claims: Claims, { require }: Spec): string | undefined =>
  require.find(({ claim, values }) => {
    const value = claimAt(claims, claim);
    if (values.length === 0) return value === undefined || value === null;
    // RFC 8693 4.2: scopes are separated by spaces.
    const elements = claim === 'scope' && typeof value === 'string' ? value.split(' ') : elementsOf(value);
    return !elements.some((one) => values.includes(one));
  })?.claim;

/** The lines for the upstream; null if a claim has no form that is safe in a field. */
export function linesOf(claims: Claims, { copy_claims: copied }: Spec): string | null {
  let lines = '';
  for (const { claim, to } of copied) {
    const value = claimAt(claims, claim);
    if (value === undefined || value === null) continue;
    const elements = elementsOf(value);
    // An element with a comma would look like two.
    const isList = Array.isArray(value);
    if (isList && (elements.length < value.length || elements.some((one) => one.includes(',')))) return null;
    if (isList && elements.length === 0) continue;
    const text = elements.join(',');
    if (!SAFE.test(text)) return null;
    lines += `${to}: ${text}\r\n`;
  }
  return lines;
}

/**
 * A claim by its name, which may contain dots itself (`https://example.com/roles`), or else by a path of names that lead into objects:
 * `realm_access.roles`.
 */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let value: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  return value;
}

/** Strings, numbers and booleans as text; nothing for other values. */
const elementsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).flatMap((one: unknown) =>
    typeof one === 'string' || typeof one === 'boolean' || Number.isSafeInteger(one) ? String(one) : [],
  );

const isTime = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Without what every object inherits. */
const owned = (claims: Claims, ...names: string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (Object.hasOwn(claims, name) ? [[name, claims[name]]] : [])));
