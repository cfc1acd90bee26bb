import type { RedirectSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { type OwnAnswer, UNSAFE_VALUE } from '../../exchange/own-answer.ts';
import { compileCondition } from '../../match/condition.ts';
import { compilePattern, foldsPaths, remainderOf } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { compileLocation } from './location.ts';
import { redirectPage } from './page.ts';

/** `redir <from> <to> <status>`: the site's come first, then the block's own; the first that matches answers. */
export const redirect: PolicyKind = (route, handle) =>
  [...route.redirects, ...(handle?.redirects ?? [])].map((spec) => compile(spec, foldsPaths(route)));

function compile(spec: RedirectSpec, folds: boolean): Policy {
  const from = compilePattern(spec.from, folds);
  const condition = spec.match === undefined ? null : compileCondition(spec.match, folds);
  const matches = (x: Exchange): boolean => from.matches(x.path) && (condition === null || condition(x.path, x));
  const location = compileLocation(spec.to, (x) => remainderOf(from, x.path));
  return {
    name: 'redir',
    decide: (x) => (matches(x) ? answer(spec.status, location(x)) : null),
    explain(x) {
      if (!matches(x)) return passes(`${spec.match?.name ?? spec.from} does not match`);
      const to = location(x);
      return answers(to === null ? `${UNSAFE_VALUE.status}: ${UNSAFE_VALUE.reason}` : `${spec.status} to ${to}`);
    },
  };
}

function answer(status: number, location: string | null): OwnAnswer {
  if (location === null) return UNSAFE_VALUE;
  if (status === 200) return redirectPage(location);
  return { status, fields: `Location: ${location}\r\n`, body: '', reason: 'redirected' };
}
