import type { FakeApiServer, FakeObject } from './fake-api-server.ts';

export const INGRESSES_PATH = '/apis/networking.k8s.io/v1/ingresses';
export const CLASSES_PATH = '/apis/networking.k8s.io/v1/ingressclasses';
const SERVICES_PATH = '/api/v1/services';
const SLICES_PATH = '/apis/discovery.k8s.io/v1/endpointslices';
export const SECRETS_PATH = '/api/v1/secrets';
export const LEASES_PATH = '/apis/coordination.k8s.io/v1/namespaces/sluice/leases';

type More = { readonly annotations?: Readonly<Record<string, string>>; readonly className?: string; readonly service?: string };

/** An Ingress for one host whose paths all lead to one service. */
export const fakeIngress = (
  name: string,
  host: string,
  { annotations = {}, className = 'sluice', service = name }: More = {},
): FakeObject => ({
  metadata: { name, namespace: 'default', annotations, generation: 1 },
  spec: {
    ingressClassName: className,
    rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: service, port: { number: 80 } } } }] } }],
  },
});

const fakeService = (name: string): FakeObject => ({
  metadata: { name, namespace: 'default' },
  spec: { ports: [{ name: 'http', port: 80 }] },
});

const fakeSlice = (service: string, addresses: readonly string[]): FakeObject => ({
  metadata: { name: `${service}-1`, namespace: 'default', labels: { 'kubernetes.io/service-name': service } },
  addressType: 'IPv4',
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  endpoints: addresses.map((address) => ({
    addresses: [address],
    conditions: { ready: true },
    targetRef: { kind: 'Pod', uid: `pod-${address}` },
  })),
});

/** An app with an address, and an Ingress for it. */
export function putSite(server: FakeApiServer, name: string, host: string, address: string, more: More = {}): void {
  server.put(SERVICES_PATH, fakeService(name));
  server.put(SLICES_PATH, fakeSlice(name, [address]));
  server.put(INGRESSES_PATH, fakeIngress(name, host, more));
}
