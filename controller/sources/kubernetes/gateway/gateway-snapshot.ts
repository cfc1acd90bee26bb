import type { BackendTlsPolicy } from '../objects/backend-tls-policy.ts';
import type { AuthorityConfig } from '../objects/config-map.ts';
import type { Gateway, GatewayClass, ListenerSet } from '../objects/gateway.ts';
import type { HttpRoute } from '../objects/http-route.ts';
import type { Namespace } from '../objects/namespace.ts';
import type { ReferenceGrant } from '../objects/reference-grant.ts';
import type { TlsSecret } from '../objects/secret.ts';
import type { TlsRoute } from '../objects/tls-route.ts';

/** The objects of the Gateway API and the objects that they refer to. By `NAMESPACE/NAME`. */
export type GatewaySnapshot = {
  readonly gatewayClasses: ReadonlyMap<string, GatewayClass>;
  readonly gateways: ReadonlyMap<string, Gateway>;
  readonly listenerSets: ReadonlyMap<string, ListenerSet>;
  readonly httpRoutes: ReadonlyMap<string, HttpRoute>;
  readonly grpcRoutes: ReadonlyMap<string, HttpRoute>;
  readonly tlsRoutes: ReadonlyMap<string, TlsRoute>;
  readonly grants: ReadonlyMap<string, ReferenceGrant>;
  readonly backendTlsPolicies: ReadonlyMap<string, BackendTlsPolicy>;
  readonly namespaces: ReadonlyMap<string, Namespace>;
  readonly authorities: ReadonlyMap<string, AuthorityConfig>;
  readonly secrets: ReadonlyMap<string, TlsSecret>;
  /** IP addresses of the proxy. With several, each Gateway has one of its own. */
  readonly addresses: readonly string[];
};
