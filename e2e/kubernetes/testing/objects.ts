import type { KubernetesObject } from './object-path.ts';

type ObjectName = { readonly name: string; readonly namespace?: string };

const metadata = ({ name, namespace = 'default' }: ObjectName, more: object = {}) => ({ name, namespace, ...more });

export const namespaceObject = (name: string): KubernetesObject => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });

/** An app of some pods, whose containers listen on `port`, and the Service in front of them on port 80, named `http`. */
export function app(named: ObjectName, { replicas = 1, port = 8080, annotations = {} as Record<string, string> } = {}): KubernetesObject[] {
  const labels = { app: named.name };
  const containers = [{ name: 'app', image: 'app', ports: [{ containerPort: port }] }];
  const template = { metadata: { labels }, spec: { containers } };
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: metadata(named),
      spec: { replicas, selector: { matchLabels: labels }, template },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: metadata(named, { annotations }),
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: port }] },
    },
  ];
}

type Path = {
  readonly path: string;
  readonly type?: 'Exact' | 'Prefix' | 'ImplementationSpecific';
  readonly service: string;
  readonly port?: string | number;
};
type IngressMore = {
  readonly annotations?: Record<string, string>;
  readonly className?: string | null;
  readonly tls?: object[];
  readonly defaultService?: string;
};

const backend = (name: string, port: string | number = 80) => ({
  service: { name, port: typeof port === 'number' ? { number: port } : { name: port } },
});

/** An Ingress of one host; '' is every host. */
export function ingress(named: ObjectName, host: string, paths: readonly Path[], more: IngressMore = {}): KubernetesObject {
  const { annotations = {}, className = 'sluice', tls, defaultService } = more;
  const http = {
    paths: paths.map(({ path, type = 'Prefix', service, port }) => ({ path, pathType: type, backend: backend(service, port) })),
  };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: metadata(named, { annotations }),
    spec: {
      ...(className !== null && { ingressClassName: className }),
      ...(tls && { tls }),
      ...(defaultService !== undefined && { defaultBackend: backend(defaultService) }),
      ...(paths.length > 0 && { rules: [{ ...(host !== '' && { host }), http }] }),
    },
  };
}

export const INGRESS_CLASS: KubernetesObject = {
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IngressClass',
  metadata: { name: 'sluice' },
  spec: { controller: 'sluice.dev/ingress-controller' },
};

export const tlsSecret = (named: ObjectName, { cert, key }: { readonly cert: string; readonly key: string }): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: metadata(named),
  type: 'kubernetes.io/tls',
  stringData: { 'tls.crt': cert, 'tls.key': key },
});

export const GATEWAY_CLASS: KubernetesObject = {
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'GatewayClass',
  metadata: { name: 'sluice' },
  spec: { controllerName: 'sluice.dev/gateway-controller' },
};

/** An object of the Gateway API. */
export const gatewayObject = (kind: string, name: string, spec: object): KubernetesObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind,
  metadata: metadata({ name }),
  spec,
});
