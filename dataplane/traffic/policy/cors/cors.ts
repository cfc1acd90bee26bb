import { ANY_ORIGIN } from '../../../../shared/policy/cors/origin.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { CrossOrigin } from '../../exchange/cross-origin.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { type Policy, type PolicyKind, passes } from '../policy.ts';

type Spec = NonNullable<RouteSpec['cors']>;

/** A list of header names as a browser sends it; longer ones are refused (characters). */
const LONGEST_NAMES = 4_096;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/;
const NAMES = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/** `cors`: the block's own, or the site's if the block has none. */
export const cors: PolicyKind = (route, handle) => {
  const spec = handle?.cors === undefined ? route.cors : handle.cors;
  return spec ? [compile(spec)] : [];
};

const ALLOWED: OwnAnswer = { status: 204, fields: '', body: '', reason: 'a preflight that cors allows' };
const refusal = (what: string): OwnAnswer => ({
  status: 403,
  fields: '',
  body: '',
  reason: `cors does not allow ${what} of this preflight`,
});

function compile(spec: Spec): Policy {
  const isAllowed = originTest(spec);
  const anyone = spec.origins.includes(ANY_ORIGIN);
  const foreign: CrossOrigin = { lines: '', varies: true };
  const forAll: CrossOrigin = { lines: allowing(ANY_ORIGIN, spec), varies: false };
  const preflight = preflightOf(spec);
  const crossOrigin = (origin: string | null): CrossOrigin => {
    if (anyone) return forAll;
    return origin !== null && isAllowed(origin) ? { lines: allowing(origin, spec), varies: true } : foreign;
  };
  return {
    name: 'cors',
    decide(x) {
      const origin = fieldIn(x.fields, 'origin');
      const own = crossOrigin(origin);
      x.crossOrigin = own;
      if (!isPreflight(x, origin)) return null;
      const verdict = preflight(x, anyone || isAllowed(origin));
      if (typeof verdict !== 'string') return verdict;
      x.crossOrigin = { lines: own.lines + verdict, varies: own.varies };
      return ALLOWED;
    },
    explain: () => passes(`pages of ${anyone ? 'any origin' : spec.origins.join(', ')} may use the site`),
  };
}

/** A preflight request (Fetch 3.2.2), which a browser sends before a request that a page could not have sent without CORS. */
const isPreflight = (x: Exchange, origin: string | null): origin is string =>
  x.method === 'OPTIONS' && origin !== null && fieldIn(x.fields, 'access-control-request-method') !== null;

/** Origins are compared as browsers send them, in lower case. */
function originTest({ origins, wildcard }: Spec): (origin: string) => boolean {
  const exact = new Set(origins);
  const labels = wildcard === 'many' ? MANY_LABELS : ONE_LABEL;
  const wild = origins.flatMap((origin) => {
    const at = origin.indexOf('//*');
    if (at < 0) return [];
    const below = origin.slice(at + 3);
    return [{ scheme: origin.slice(0, at + 2), below, covered: below === '' ? HOST_AND_PORT : labels }];
  });
  return (origin) => {
    // "*" is a setting, not an origin, and a wildcard is no host.
    if (origin.includes('*')) return false;
    if (exact.has(origin)) return true;
    return wild.some(({ scheme, below, covered }) => {
      if (!origin.startsWith(scheme) || !origin.endsWith(below)) return false;
      return covered.test(origin.slice(scheme.length, origin.length - below.length));
    });
  };
}

const ONE_LABEL = /^[a-z0-9_-]+$/;
const MANY_LABELS = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/;
const HOST_AND_PORT = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

function allowing(origin: string, { expose, credentials }: Spec): string {
  return (
    `Access-Control-Allow-Origin: ${origin}\r\n` +
    (credentials ? 'Access-Control-Allow-Credentials: true\r\n' : '') +
    (expose.length > 0 ? `Access-Control-Expose-Headers: ${expose.join(', ')}\r\n` : '')
  );
}

/** @returns the lines to add to the answer of a preflight, or its rejection. */
function preflightOf(spec: Spec): (x: Exchange, isOrigin: boolean) => string | OwnAnswer {
  const methods = new Set(spec.methods);
  const anyMethod = methods.has('*');
  const anyHeader = spec.headers.includes('*');
  const headers = new Set(spec.headers.map((name) => name.toLowerCase()));
  const fixed = `Vary: Access-Control-Request-Method, Access-Control-Request-Headers\r\nAccess-Control-Max-Age: ${spec.max_age_secs}\r\n`;
  const named = spec.methods.join(', ');
  return (x, isOrigin) => {
    const method = fieldIn(x.fields, 'access-control-request-method') ?? '';
    const names = fieldIn(x.fields, 'access-control-request-headers') ?? '';
    if (!isOrigin) return refusal('the origin');
    // A star would be a method of this name in the answer to a request with credentials (Fetch 3.2.3).
    if (anyMethod ? !NAME.test(method) : !methods.has(method)) return refusal('the method');
    if (names.length > LONGEST_NAMES || (names !== '' && !NAMES.test(names))) return refusal('a header');
    const asked = names === '' ? [] : names.split(',').map((name) => name.trim());
    if (!anyHeader && !asked.every((name) => headers.has(name.toLowerCase()))) return refusal('a header');
    const allowed = `Access-Control-Allow-Methods: ${anyMethod ? method : named}\r\n`;
    return fixed + allowed + (asked.length > 0 ? `Access-Control-Allow-Headers: ${asked.join(', ')}\r\n` : '');
  };
}
