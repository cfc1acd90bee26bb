import { createHash } from 'node:crypto';
import type { ClientPair } from './certificates/client-pair.ts';
import { withConcealedConditions } from './concealed-conditions.ts';
import { mark } from './policy/concealed-text.ts';
import { BLOCK_POLICIES, type PolicyMembers, SITE_POLICIES } from './policy/policies.ts';
import type { Description } from './policy/policy.ts';
import type { RouteSpec } from './route.ts';
import type { HealthCheckSpec } from './upstreams/health-check.ts';
import type { PoolOptions } from './upstreams/pool-options.ts';
import type { TransportSpec } from './upstreams/transport.ts';

/**
 * A route for display: each secret is replaced by a placeholder that reveals only whether two secrets are equal. Every parser rejects a
 * route with such placeholders.
 */
export function redacted(route: RouteSpec): RouteSpec {
  const handles = route.handles.map((handle) => concealed(handle, BLOCK_POLICIES));
  const isOpen = handles.every((handle, index) => handle === route.handles[index]);
  return withConcealedConditions(concealed(isOpen ? route : { ...route, handles }, SITE_POLICIES));
}

/** The same object if it contains no secrets. */
function concealed<Part extends PolicyMembers & PoolOptions>(part: Part, policies: readonly Description<PolicyMembers>[]): Part {
  const marked: object[] = policies.flatMap((policy) => policy.concealed?.(part) ?? []);
  if (part.transport?.client_certificate) marked.push({ transport: withoutKey(part.transport, part.transport.client_certificate) });
  if (part.health?.path.includes('?')) marked.push({ health: withoutQuery(part.health) });
  return marked.length === 0 ? part : Object.assign({}, part, ...marked);
}

/** A key is long and random, so its digest reveals nothing about it. */
function withoutKey(transport: TransportSpec, pair: ClientPair): TransportSpec {
  const mark = `redacted-${createHash('sha256').update(pair.private_key).digest('hex').slice(0, 12)}`;
  return { ...transport, client_certificate: { ...pair, private_key: mark } };
}

/** The query may be a key for the page. */
function withoutQuery(health: HealthCheckSpec): HealthCheckSpec {
  const query = health.path.indexOf('?') + 1;
  return { ...health, path: health.path.slice(0, query) + mark(health.path.slice(query)) };
}
