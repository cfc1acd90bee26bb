import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { GRPC_ROUTES } from '../../objects/grpc-route.ts';
import { type AnyRoute, HTTP_ROUTES } from '../../objects/http-route.ts';
import { TLS_ROUTES } from '../../objects/tls-route.ts';
import { type ParentStatus, parentsOf, type WantedCondition } from '../../status/conditions.ts';
import type { DesiredStatus } from '../../status/desired-status.ts';
import type { Attachment } from '../attachments.ts';
import type { RouteVerdicts } from './route-verdicts.ts';
import { conditionOf } from './verdict.ts';

const RESOURCES = { HTTPRoute: HTTP_ROUTES, GRPCRoute: GRPC_ROUTES, TLSRoute: TLS_ROUTES } as const;

/** The status of a route at those of its parents that this controller serves. If there are none, what it wrote before is withdrawn. */
export function routeStatus(route: AnyRoute, attachments: readonly Attachment[], verdicts: RouteVerdicts): DesiredStatus {
  return statusAt(
    route,
    attachments.map((one) => ({ parentRef: one.parent.raw, conditions: conditionsAt(one, verdicts) })),
  );
}

const withdrawn = new WeakMap<AnyRoute, DesiredStatus>();

/** The same if this controller serves no Gateway at all. By version of the route, so that an unchanged one is recognized. */
export function withdrawnStatus(route: AnyRoute): DesiredStatus {
  const known = withdrawn.get(route) ?? statusAt(route, []);
  withdrawn.set(route, known);
  return known;
}

function statusAt(route: AnyRoute, parents: Parameters<typeof parentsOf>[2]): DesiredStatus {
  const { meta } = route;
  return {
    resource: RESOURCES[route.kind],
    meta,
    build: ({ current, now }) => {
      const before = current.parents as readonly ParentStatus[] | undefined;
      if (parents.length === 0 && !before?.some(({ controllerName }) => controllerName === GATEWAY_CONTROLLER)) return undefined;
      return { parents: parentsOf(before, GATEWAY_CONTROLLER, parents, { generation: meta.generation, now }) };
    },
  };
}

function conditionsAt({ accepted }: Attachment, { resolved, invalid, partlyInvalid }: RouteVerdicts): WantedCondition[] {
  return [
    conditionOf('Accepted', accepted.holds && invalid !== null ? invalid : accepted),
    conditionOf('ResolvedRefs', resolved),
    ...(partlyInvalid ? [conditionOf('PartiallyInvalid', partlyInvalid)] : []),
  ];
}
