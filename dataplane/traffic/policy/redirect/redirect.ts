import type { RedirectSpec } from '../../../../shared/route.ts';
import type { OwnAnswer } from '../../answer.ts';
import type { Exchange } from '../../exchange.ts';
import { compilePattern, remainderOf } from '../../match/pattern.ts';
import type { Policy, PolicyKind } from '../order.ts';

/** `redir <from> <to> <status>`: the site's come first, then the block's own; the first that matches answers. */
export const redirect: PolicyKind = (route, handle) => [...route.redirects, ...(handle?.redirects ?? [])].map(compile);

/** Placeholders that a target may name, each with what stands for it. */
const PLACEHOLDERS: Readonly<Record<string, (x: Exchange, remainder: string) => string>> = {
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
  const parts = spec.to.split(/\{([a-z.]+)\}/);
  const location = (x: Exchange): string => {
    const remainder = remainderOf(from, x.path);
    return parts.map((part, index) => (index % 2 === 0 ? part : (PLACEHOLDERS[part]?.(x, remainder) ?? `{${part}}`))).join('');
  };
  return {
    name: 'redir',
    decide: (x) => (from.matches(x.path) ? answer(spec.status, location(x)) : null),
    explain: (x) => (from.matches(x.path) ? `${spec.status} to ${location(x)}` : `${spec.from} does not match`),
  };
}

function answer(status: number, location: string): OwnAnswer {
  return { status, fields: `Location: ${fieldSafe(location)}\r\n`, body: '', reason: 'redirected' };
}

/** What a client sent may stand in a target, never end its line. */
const fieldSafe = (text: string): string => text.replace(/[^\x21-\x7e]/g, (char) => encodeURIComponent(char));

const pathOf = (target: string): string => target.split('?', 1)[0] ?? '';
const queryOf = (target: string): string => (target.includes('?') ? target.slice(target.indexOf('?') + 1) : '');
