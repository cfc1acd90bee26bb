import { BLOCK_POLICIES, type PolicyMembers, SITE_POLICIES } from './policy/policies.ts';
import type { Description } from './policy/policy.ts';
import type { RouteSpec } from './route.ts';

/**
 * A route for display: each secret is replaced by a mark that reveals only whether two secrets are equal. Every parser rejects a route
 * with marks.
 */
export function redacted(route: RouteSpec): RouteSpec {
  const handles = route.handles.map((handle) => concealed(handle, BLOCK_POLICIES));
  const isOpen = handles.every((handle, index) => handle === route.handles[index]);
  return concealed(isOpen ? route : { ...route, handles }, SITE_POLICIES);
}

/** The same object if it contains no secrets. */
function concealed<Part extends PolicyMembers>(part: Part, policies: readonly Description<PolicyMembers>[]): Part {
  const marked = policies.flatMap((policy) => policy.concealed?.(part) ?? []);
  return marked.length === 0 ? part : Object.assign({}, part, ...marked);
}
