import { concealedText } from '../../../../shared/policy/concealed-text.ts';
import { changesIn } from '../../../../shared/policy/header/effective.ts';
import { HOST_VALUE, isHost, OF_TARGET } from '../../../../shared/policy/request-header/names.ts';
import type { HandleSpec, RouteSpec } from '../../../../shared/route.ts';
import { fieldIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { UNSAFE_VALUE } from '../../exchange/own-answer.ts';
import type { EvaluatedRequest } from '../../exchange/values/evaluated-request.ts';
import { compileChanges, type FieldChanges, type FieldNameRules } from '../../exchange/values/field-changes.ts';
import { NO_ANSWER } from '../../exchange/values/placeholders.ts';
import { remainderIn } from '../../match/pattern.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { compileApplies } from '../rewrite/rewriting.ts';

type Spec = NonNullable<RouteSpec['request_headers']>[number];

/** Longest field section that changes may make (bytes). */
export const LONGEST_SECTION = 65_536;
/**
 * A request always has a host. Upstreams that turn field names into variables take `X_User` for `X-User`, so what a client sends as the one
 * must not remain beside the other.
 */
export const NAMES: FieldNameRules = { kept: new Set(['host']), confusable: true };

/** `request_header` and `header_up`: changes of the fields for the upstream, the site's before the block's. */
export const requestHeader: PolicyKind = (route, handle) =>
  together(specsIn(route, handle)).map((specs) => compile(specs, route, remainderIn(route, handle)));

/** `header_up` comes last, so that it decides about what its upstreams get. */
function specsIn(route: RouteSpec, handle: HandleSpec | null): Spec[] {
  const { always, ofUpstream } = changesIn(route.request_headers ?? [], handle, handle?.request_headers ?? []);
  return [...always, ...ofUpstream];
}

/** Changes under the same condition, one after the other, take the fields apart once. Host is a change of its own. */
function together(specs: readonly Spec[]): Spec[][] {
  const groups: Spec[][] = [];
  for (const spec of specs) {
    const group = groups.at(-1);
    const last = group?.at(-1);
    const joins =
      last !== undefined &&
      !isHost(last.name) &&
      !isHost(spec.name) &&
      nameOf(last) === nameOf(spec) &&
      JSON.stringify(last.match) === JSON.stringify(spec.match);
    if (joins) group?.push(spec);
    else groups.push([spec]);
  }
  return groups;
}

/** The directive. */
const nameOf = ({ upstream_only }: Spec): string => (upstream_only ? 'header_up' : 'request_header');

/** Changes the fields for the upstream. @returns whether the values are safe. */
type ApplyChange = (x: Exchange) => boolean;

function compile(specs: readonly Spec[], route: RouteSpec, remainder: (x: EvaluatedRequest) => string): Policy {
  const [first] = specs as [Spec];
  const { match } = first;
  const applies = compileApplies(match, route);
  const changes = compileChanges(specs.filter(isOfRequest), 'request', { remainder }, NAMES);
  const act = compileAct(specs, changes);
  return {
    name: nameOf(first),
    decidesField: changes.decides,
    decide: (x) => (applies(x) && !act(x) ? UNSAFE_VALUE : null),
    explain(x) {
      if (!applies(x)) return passes(`${match?.name ?? 'its condition'} does not match`);
      if (!act(x)) return answers(`${UNSAFE_VALUE.status}: ${UNSAFE_VALUE.reason}`);
      return passes(specs.map((spec) => describe(spec, x)).join('; '));
    },
  };
}

/** A text of the site may be a secret, so only hosts and values made of placeholders are shown. */
function describe({ name, value, op }: Spec, x: Exchange): string {
  if (value === null) return `removes ${name}`;
  if (isHost(name) && x.hostOfTarget !== null) return `Host: the ${x.hostOfTarget === 'host' ? 'name' : 'address'} of the target`;
  const isShown = op === undefined && (isHost(name) || concealedText(value) === value);
  return isShown ? `${name}: ${fieldIn(x.upstreamFields, name.toLowerCase()) ?? ''}` : `changes ${name}`;
}

/** One that stands for the target is no placeholder of a request. */
const isOfRequest = ({ name, value }: Spec): boolean => !isHost(name) || !OF_TARGET.has(value ?? '');

function compileAct(specs: readonly Spec[], changes: FieldChanges): ApplyChange {
  const [first] = specs;
  const setsHost = first !== undefined && isHost(first.name);
  const ofTarget = setsHost ? OF_TARGET.get(first.value ?? '') : undefined;
  if (ofTarget !== undefined)
    return (x) => {
      x.hostOfTarget = ofTarget;
      return true;
    };
  return (x) => {
    const fields = changes.apply(x.upstreamFields, x, NO_ANSWER, true);
    if (fields === null || fields.length > LONGEST_SECTION) return false;
    if (setsHost && !HOST_VALUE.test(fieldIn(fields, 'host') ?? '')) return false;
    if (setsHost) x.hostOfTarget = null;
    x.upstreamFields = fields;
    return true;
  };
}
