import { HOST_VALUE, isHost, OF_TARGET } from '../../../../shared/policy/request-header/names.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { fieldIn } from '../../codec/http1/fields.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { UNSAFE_VALUE } from '../../exchange/own-answer.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { compileChanges, type Names } from '../../exchange/values/field-changes.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { remainderIn } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { compileApplies } from '../rewrite/rewriting.ts';

type Spec = NonNullable<RouteSpec['request_headers']>[number];

/** Longest field section that changes may make (bytes). */
const LONGEST_SECTION = 65_536;
/**
 * A request always has a host. Upstreams that turn field names into variables take `X_User` for `X-User`, so what a client sends as the one
 * must not remain beside the other.
 */
const NAMES: Names = { kept: new Set(['host']), folded: (name) => name.replace(/[^a-z0-9]/g, () => '-') };

/** `request_header`: changes of the fields for the upstream, the site's before the block's. */
export const requestHeader: PolicyKind = (route, handle) =>
  [...(route.request_headers ?? []), ...(handle?.request_headers ?? [])].map((spec) => compile(spec, route, remainderIn(route, handle)));

/** Changes the fields for the upstream. @returns whether its value is safe. */
type Act = (x: Exchange) => boolean;

function compile(spec: Spec, route: RouteSpec, remainder: (x: EvaluatedRequest) => string): Policy {
  const applies = compileApplies(spec.match, route);
  const act = compileAct(spec, remainder);
  return {
    name: 'request_header',
    decide: (x) => (applies(x) && !act(x) ? UNSAFE_VALUE : null),
    explain(x) {
      if (!applies(x)) return passes(`${spec.match?.name ?? 'its condition'} does not match`);
      if (!act(x)) return answers(`${UNSAFE_VALUE.status}: ${spec.name}: ${UNSAFE_VALUE.reason}`);
      if (spec.value === null) return passes(`removes ${spec.name}`);
      if (x.hostOfTarget !== null && isHost(spec.name))
        return passes(`Host: the ${x.hostOfTarget === 'host' ? 'name' : 'address'} of the target`);
      return passes(`${spec.name}: ${fieldIn(x.upstreamFields, spec.name.toLowerCase()) ?? 'not present'}`);
    },
  };
}

function compileAct(spec: Spec, remainder: (x: EvaluatedRequest) => string): Act {
  const ofTarget = isHost(spec.name) && spec.value !== null ? OF_TARGET.get(spec.value) : undefined;
  if (ofTarget !== undefined)
    return (x) => {
      x.hostOfTarget = ofTarget;
      return true;
    };
  const changes = compileChanges([spec], 'request', { remainder }, NAMES);
  const setsHost = isHost(spec.name);
  return (x) => {
    const fields = changes.apply(x.upstreamFields, x, NO_ANSWER, true);
    if (fields === null || fields.length > LONGEST_SECTION) return false;
    if (setsHost && !HOST_VALUE.test(fieldIn(fields, 'host') ?? '')) return false;
    if (setsHost) x.hostOfTarget = null;
    x.upstreamFields = fields;
    return true;
  };
}
