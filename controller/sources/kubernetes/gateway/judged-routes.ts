import type { AnyRoute, HttpRoute } from '../objects/http-route.ts';
import { byAge } from '../objects/meta.ts';
import type { TlsRoute } from '../objects/tls-route.ts';
import { type Attachment, attach } from './attachments.ts';
import { type BoundGateway, parentsOfGateway } from './bound-gateways.ts';
import type { GatewaySnapshot } from './gateway-snapshot.ts';
import type { RouteBackends } from './rules/route-backends.ts';
import { judgeHttpRoute, judgeTlsRoute, type RouteVerdicts } from './status/route-verdicts.ts';

/** A route of the Gateway API with its verdicts. */
export type JudgedRoute<Route extends AnyRoute = AnyRoute> = {
  readonly route: Route;
  readonly attachments: readonly Attachment<Route>[];
  readonly verdicts: RouteVerdicts;
};

/** The oldest of each kind first. Those for gRPC are HTTP routes, too. */
export type JudgedRoutes = { readonly http: readonly JudgedRoute<HttpRoute>[]; readonly tls: readonly JudgedRoute<TlsRoute>[] };

/** All routes, each attached to those of its parents that are ours. */
export function judgeRoutes(snapshot: GatewaySnapshot, gateways: readonly BoundGateway[], targets: RouteBackends): JudgedRoutes {
  const parents = new Map(gateways.flatMap((one) => parentsOfGateway(one)));
  const judge = <Route extends AnyRoute>(route: Route, verdicts: RouteVerdicts): JudgedRoute<Route> => ({
    route,
    verdicts,
    attachments: attach(route, parents, snapshot.namespaces),
  });
  const http = [...snapshot.httpRoutes.values(), ...snapshot.grpcRoutes.values()].sort(byAge);
  const tls = [...snapshot.tlsRoutes.values()].sort(byAge);
  return {
    http: http.map((route) => judge(route, judgeHttpRoute(route, targets))),
    tls: tls.map((route) => judge(route, judgeTlsRoute(route, targets))),
  };
}

export const isAccepted = ({ verdicts }: Pick<JudgedRoute, 'verdicts'>): boolean => verdicts.invalid === null;
