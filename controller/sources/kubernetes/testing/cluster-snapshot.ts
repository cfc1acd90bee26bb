import { readSingleDirective } from '../../file/single-directive.ts';
import { HTPASSWD_SECRETS } from '../objects/htpasswd-secret.ts';
import { INGRESS_CLASSES, INGRESSES } from '../objects/ingress.ts';
import { TLS_SECRETS } from '../objects/secret.ts';
import { ENDPOINT_SLICES, SERVICES } from '../objects/service.ts';
import type { ClusterSnapshot } from '../routes/cluster-snapshot.ts';

/** An object as the API server sends it, whose name is `NAMESPACE/NAME` here. */
export type SampleObject = { readonly name: string; readonly metadata?: object; readonly [more: string]: unknown };

type Samples = { readonly [kind in 'ingresses' | 'services' | 'slices' | 'users']?: readonly SampleObject[] };

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
export const clusterOf = ({ ingresses, services, slices, users }: Samples): ClusterSnapshot => ({
  ingressClass: 'sluice',
  ingresses: readAll(INGRESSES, ingresses),
  classes: readAll(INGRESS_CLASSES, []),
  services: readAll(SERVICES, services),
  slices: readAll(ENDPOINT_SLICES, slices),
  secrets: readAll(TLS_SECRETS, []),
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
