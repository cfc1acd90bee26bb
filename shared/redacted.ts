import { BLOCK_POLICIES, type SaidOfPolicies, SITE_POLICIES } from './policy/policies.ts';
import type { Description } from './policy/policy.ts';
import type { RouteSpec } from './route.ts';

/**
 * A route as it may be shown: what is secret in it is replaced by marks that tell nothing but whether two are the same. A
 * route with marks is refused by every parser.
 */
export function redacted(route: RouteSpec): RouteSpec {
  const handles = route.handles.map((handle) => concealed(handle, BLOCK_POLICIES));
  const isOpen = handles.every((handle, index) => handle === route.handles[index]);
  return concealed(isOpen ? route : { ...route, handles }, SITE_POLICIES);
}

/** The same object where nothing in it is secret. */
function concealed<Part extends SaidOfPolicies>(part: Part, policies: readonly Description<SaidOfPolicies>[]): Part {
  const marked = policies.flatMap((policy) => policy.concealed?.(part) ?? []);
  return marked.length === 0 ? part : Object.assign({}, part, ...marked);
}
