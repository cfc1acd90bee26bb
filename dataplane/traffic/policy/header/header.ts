import type { HeaderSpec, RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { UNSAFE_VALUE } from '../../exchange/own-answer.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { CONTROLS, compileText, LONGEST_FIELD_VALUE } from '../../exchange/values/template.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths, remainderIn } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';

/** `header` changes responses, but a request whose values are unsafe in one is refused before it is forwarded. */
export const header: PolicyKind = (route, handle) =>
  [...route.headers, ...(handle?.headers ?? [])].flatMap((spec) => compile(spec, route, remainderIn(route, handle)) ?? []);

function compile(spec: HeaderSpec, route: RouteSpec, remainder: (x: EvaluatedRequest) => string): Policy | null {
  if (spec.value === null) return null;
  const text = compileText(spec.value, { scope: 'answer', longest: LONGEST_FIELD_VALUE, unsafe: CONTROLS, remainder });
  if (text.constant !== null || !text.mayFail) return null;
  const matches = spec.match === undefined ? null : compileCondition(spec.match, foldsPaths(route));
  const applies = (x: Exchange): boolean => matches === null || matches(x.path, x);
  return {
    name: 'header',
    decide: (x) => (applies(x) && text.evaluate(x, NO_ANSWER) === null ? UNSAFE_VALUE : null),
    explain(x) {
      if (!applies(x)) return passes(`${spec.name}: ${spec.match?.name ?? 'its condition'} does not match`);
      const value = text.evaluate(x, NO_ANSWER);
      return value === null ? answers(`${UNSAFE_VALUE.status}: ${spec.name}: ${UNSAFE_VALUE.reason}`) : passes(`${spec.name}: ${value}`);
    },
  };
}
