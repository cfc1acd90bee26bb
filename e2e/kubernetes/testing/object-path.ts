/** An object of a cluster. Without a namespace, it is in `default` unless its kind belongs to no namespace. */
export type KubernetesObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [more: string]: unknown };
  readonly [more: string]: unknown;
};

const CLUSTER_WIDE = new Set([
  'Namespace',
  'Node',
  'IngressClass',
  'GatewayClass',
  'CustomResourceDefinition',
  'ClusterRole',
  'ClusterRoleBinding',
]);

/** The path of an object in the API server. */
export function pathOf({ apiVersion, kind, metadata: { name, namespace = 'default' } }: KubernetesObject): string {
  const group = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const within = CLUSTER_WIDE.has(kind) ? '' : `/namespaces/${namespace}`;
  return `${group}${within}/${pluralOf(kind.toLowerCase())}/${name}`;
}

/** The resource of a kind: `ingresses`, `gateways`, `backendtlspolicies`, `services`. */
function pluralOf(kind: string): string {
  if (kind.endsWith('s')) return `${kind}es`;
  return kind.endsWith('cy') ? `${kind.slice(0, -1)}ies` : `${kind}s`;
}
