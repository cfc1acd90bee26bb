import { readSingleDirective } from '../../file/single-directive.ts';
import type { GatewaySnapshot } from '../gateway/gateway-snapshot.ts';
import { BACKEND_TLS_POLICIES } from '../objects/backend-tls-policy.ts';
import { AUTHORITIES } from '../objects/config-map.ts';
import { GATEWAY_CLASSES, GATEWAYS, LISTENER_SETS } from '../objects/gateway.ts';
import { GRPC_ROUTES } from '../objects/grpc-route.ts';
import { HTPASSWD_SECRETS } from '../objects/htpasswd-secret.ts';
import { HTTP_ROUTES } from '../objects/http-route.ts';
import { INGRESS_CLASSES, INGRESSES } from '../objects/ingress.ts';
import { NAMESPACES } from '../objects/namespace.ts';
import { REFERENCE_GRANTS } from '../objects/reference-grant.ts';
import { TLS_SECRETS } from '../objects/secret.ts';
import { ENDPOINT_SLICES, SERVICES } from '../objects/service.ts';
import { TLS_ROUTES } from '../objects/tls-route.ts';
import type { ClusterSnapshot } from '../routes/cluster-snapshot.ts';

/** An object as the API server sends it, whose name is `NAMESPACE/NAME` here. */
export type SampleObject = { readonly name: string; readonly metadata?: object; readonly [more: string]: unknown };

type Kind = 'ingresses' | 'services' | 'slices' | 'users' | Exclude<keyof GatewaySnapshot, 'addresses'>;
type Samples = { readonly [kind in Kind]?: readonly SampleObject[] };

let age = 0;

function readAll<T>(resource: { read(object: never): T }, samples: readonly SampleObject[] = []): ReadonlyMap<string, T> {
  const entries = samples.map(({ name, metadata, ...rest }): [string, T] => {
    const [namespace, own] = name.split('/');
    const createdAt = new Date(Date.UTC(2026, 0, 1) + 1_000 * age++).toISOString();
    const meta = { namespace, name: own, uid: `${name}-uid`, creationTimestamp: createdAt, resourceVersion: '1', ...metadata };
    return [name, resource.read({ metadata: meta, ...rest } as never)];
  });
  return new Map(entries);
}

/** A cluster with these objects, and the class `sluice`. Each object is younger than those before it. */
export const clusterOf = ({ ingresses, services, slices, secrets, users, ...gateway }: Samples): ClusterSnapshot => ({
  ingressClass: 'sluice',
  portMap: new Map(),
  addresses: [],
  gatewayClasses: readAll(GATEWAY_CLASSES, gateway.gatewayClasses),
  gateways: readAll(GATEWAYS, gateway.gateways),
  listenerSets: readAll(LISTENER_SETS, gateway.listenerSets),
  httpRoutes: readAll(HTTP_ROUTES, gateway.httpRoutes),
  grpcRoutes: readAll(GRPC_ROUTES, gateway.grpcRoutes),
  tlsRoutes: readAll(TLS_ROUTES, gateway.tlsRoutes),
  grants: readAll(REFERENCE_GRANTS, gateway.grants),
  backendTlsPolicies: readAll(BACKEND_TLS_POLICIES, gateway.backendTlsPolicies),
  namespaces: readAll(NAMESPACES, gateway.namespaces),
  authorities: readAll(AUTHORITIES, gateway.authorities),
  ingresses: readAll(INGRESSES, ingresses),
  classes: readAll(INGRESS_CLASSES, []),
  services: readAll(SERVICES, services),
  slices: readAll(ENDPOINT_SLICES, slices),
  secrets: readAll(TLS_SECRETS, secrets),
  users: readAll(HTPASSWD_SECRETS, users),
  readDirective: readSingleDirective,
  lastGood: new Map(),
});

/** A Service with the port 80, named `http`, and its only endpoint. */
export const serviceOf = (
  name: string,
  address: string,
  annotations: object = {},
): { readonly service: SampleObject; readonly slice: SampleObject } => ({
  service: { name, metadata: { annotations }, spec: { ports: [{ name: 'http', port: 80 }] } },
  slice: {
    name: `${name}-1`,
    metadata: { labels: { 'kubernetes.io/service-name': name.split('/')[1] } },
    addressType: 'IPv4',
    ports: [{ name: 'http', port: 8080 }],
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  },
});

/** An Ingress of one host and path for a Service of its namespace. */
export const ingressOf = (name: string, host: string, service: string, annotations: object = {}): SampleObject => ({
  name,
  metadata: { annotations },
  spec: {
    ingressClassName: 'sluice',
    rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: service, port: { number: 80 } } } }] } }],
  },
});
