import { changesIn } from '../../../../shared/policy/header/effective.ts';
import type { HandleSpec, HeaderSpec, RouteSpec } from '../../../../shared/route.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { UNSAFE_VALUE } from '../../exchange/own-answer.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { CONTROLS, compileText, LONGEST_FIELD_VALUE } from '../../exchange/values/template.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths, remainderIn } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';

/** `header` and `header_down` change responses, but a request whose values are unsafe in one is refused before it is forwarded. */
export const header: PolicyKind = (route, handle) =>
  headersIn(route, handle).all.flatMap((spec) => compile(spec, route, remainderIn(route, handle)) ?? []);

/** `header_down` comes first, since it changes the upstream's response. `own`: the changes for responses of the proxy itself. */
export function headersIn(
  route: RouteSpec,
  handle: HandleSpec | null,
): { readonly all: readonly HeaderSpec[]; readonly own: readonly HeaderSpec[] } {
  const { always, ofUpstream } = changesIn(route.headers, handle, handle?.headers ?? []);
  return { all: [...ofUpstream, ...always], own: always };
}

function compile(spec: HeaderSpec, route: RouteSpec, remainder: (x: EvaluatedRequest) => string): Policy | null {
  if (spec.value === null) return null;
  const text = compileText(spec.value, { scope: 'answer', longest: LONGEST_FIELD_VALUE, unsafe: CONTROLS, remainder });
  if (text.constant !== null || !text.mayFail) return null;
  const matches = spec.match === undefined ? null : compileCondition(spec.match, foldsPaths(route));
  const applies = (x: Exchange): boolean => matches === null || matches(x.path, x);
  return {
    name: spec.upstream_only ? 'header_down' : 'header',
    decide: (x) => (applies(x) && text.evaluate(x, NO_ANSWER) === null ? UNSAFE_VALUE : null),
    explain(x) {
      if (!applies(x)) return passes(`${spec.name}: ${spec.match?.name ?? 'its condition'} does not match`);
      const value = text.evaluate(x, NO_ANSWER);
      return value === null ? answers(`${UNSAFE_VALUE.status}: ${spec.name}: ${UNSAFE_VALUE.reason}`) : passes(`${spec.name}: ${value}`);
    },
  };
}
