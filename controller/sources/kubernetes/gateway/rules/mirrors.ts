import type { RouteInput } from '../../../../../shared/route.ts';
import type { HttpRoute, RouteFilter } from '../../objects/http-route.ts';
import { readRef } from '../../objects/object-ref.ts';
import type { Verdict } from '../status/verdict.ts';
import type { RouteBackends } from './route-backends.ts';

type Mirrors = NonNullable<NonNullable<RouteInput['handles']>[number]['mirrors']>;

/** Where copies of requests are sent. A backend that can't be used gets none, which does not affect the requests themselves. */
export function mirrorsOf(
  { kind, meta }: HttpRoute,
  filters: readonly RouteFilter[],
  backends: Pick<RouteBackends, 'resolve'>,
): { readonly mirrors: Mirrors; readonly unresolved: Verdict | null } {
  const mirrors: Mirrors = [];
  let unresolved: Verdict | null = null;
  for (const { requestMirror } of filters) {
    if (!requestMirror) continue;
    const { backendRef, percent, fraction } = requestMirror;
    const { port, ...ref } = backendRef;
    const targets = backends.resolve({ kind, namespace: meta.namespace }, { ref: readRef(ref, 'Service'), port: port ?? null });
    unresolved ??= targets.fault;
    if (targets.pool === null) continue;
    const { upstreams = [], tls, transport } = targets.pool;
    mirrors.push({
      ...{ upstreams, tls, ...(transport && { transport }) },
      ...(percent !== undefined && { fraction: { numerator: percent, denominator: 100 } }),
      ...(fraction && { fraction: { numerator: fraction.numerator, denominator: fraction.denominator ?? 100 } }),
    });
  }
  return { mirrors, unresolved };
}
