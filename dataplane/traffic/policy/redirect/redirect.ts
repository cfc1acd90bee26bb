import { PLACEHOLDERS, type Placeholder } from '../../../../shared/placeholders.ts';
import type { RedirectSpec } from '../../../../shared/route.ts';
import type { OwnAnswer } from '../../answer.ts';
import type { Exchange } from '../../exchange.ts';
import { compileCondition } from '../../match/condition.ts';
import { compilePattern, remainderOf } from '../../match/pattern.ts';
import type { Policy, PolicyKind } from '../order.ts';

/** `redir <from> <to> <status>`: the site's come first, then the block's own; the first that matches answers. */
export const redirect: PolicyKind = (route, handle) => [...route.redirects, ...(handle?.redirects ?? [])].map(compile);

/** What stands for each placeholder. */
const VALUES: Readonly<Record<Placeholder, (x: Exchange, remainder: string) => string>> = {
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

function compile(spec: RedirectSpec): Policy {
  const from = compilePattern(spec.from);
  const condition = spec.match === undefined ? null : compileCondition(spec.match);
  const matches = (x: Exchange): boolean => from.matches(x.path) && (condition === null || condition(x.path, x));
  const parts = compileTarget(spec.to);
  const location = (x: Exchange): string => {
    const remainder = remainderOf(from, x.path);
    return parts.map((part) => (typeof part === 'string' ? part : part(x, remainder))).join('');
  };
  return {
    name: 'redir',
    decide: (x) => (matches(x) ? answer(spec.status, location(x)) : null),
    explain: (x) => (matches(x) ? `${spec.status} to ${location(x)}` : `${spec.match?.name ?? spec.from} does not match`),
  };
}

/** Plain text and what stands for placeholders, in turn. Braces around anything else are plain text. */
function compileTarget(target: string): (string | ((x: Exchange, remainder: string) => string))[] {
  return target.split(/(\{[a-z.]+\})/).map((part) => {
    const name = PLACEHOLDERS.find((known) => part === `{${known}}`);
    return name === undefined ? part : VALUES[name];
  });
}

function answer(status: number, location: string): OwnAnswer {
  return { status, fields: `Location: ${fieldSafe(location)}\r\n`, body: '', reason: 'redirected' };
}

/** What a client sent may stand in a target, never end its line. */
const fieldSafe = (text: string): string => text.replace(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char));

const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';
const queryOf = (target: string): string => (target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');
