import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import type { ClusterSnapshot, ClusterTranslation } from '../routes/cluster-snapshot.ts';
import { clusterOf, type SampleObject, serviceOf } from './cluster-snapshot.ts';

/** Namespaces that share the hosts `a.test`, `*.test` and every host. Each has a certificate for all of them, and authorities. */
export const NAMESPACES = ['shop', 'odd', 'infra'] as const;
export type Namespace = (typeof NAMESPACES)[number];
export type Host = 'a.test' | '*.test' | '*';

type Kind = 'gateways' | 'listenerSets' | 'ingresses' | 'httpRoutes' | 'tlsRoutes';
export type Sample = { readonly kind: Kind; readonly namespace: string; readonly object: SampleObject; readonly text: string };

const encoded = (text: string) => Buffer.from(text).toString('base64');
const pairs = await Promise.all(NAMESPACES.map(async (namespace) => ({ namespace, ...(await makePair(['a.test', '*.test'])) })));
const authorities = await Promise.all(
  NAMESPACES.map(async (namespace) => ({ namespace, ca: (await makePair([namespace], { authority: true })).certificate })),
);

const namespaceIn = (name: string): string => name.split('/')[0] ?? '';
const hostnameOf = (host: Host): string | undefined => (host === '*' ? undefined : host);

/** What objects for each host are served by. */
const SERVICES: Readonly<Record<Host, string>> = { 'a.test': 'app', '*.test': 'wild', '*': 'all' };
const backendOf = (host: Host) => SERVICES[host];

/** A listener is `PROTOCOL:PORT HOST`, with `Same` behind that if it allows routes of its own namespace only. `requiring`: a port, or all. */
export function gateway(name: string, listeners: readonly string[], requiring?: number | 'always'): Sample {
  const validation = { caCertificateRefs: [{ name: 'ca', kind: 'ConfigMap', group: '' }] };
  const frontend =
    requiring === 'always' ? { default: { validation } } : { default: {}, perPort: [{ port: requiring, tls: { validation } }] };
  return {
    kind: 'gateways',
    namespace: namespaceIn(name),
    object: {
      name,
      spec: {
        ...{ gatewayClassName: 'sluice', listeners: listeners.map(listenerOf), allowedListeners: { namespaces: { from: 'All' } } },
        ...(requiring !== undefined && { tls: { frontend } }),
      },
    },
    text: `gateway ${name} [${listeners.join(', ')}]${requiring === undefined ? '' : ` requiring ${requiring}`}`,
  };
}

/** Listeners for a Gateway. */
export function listenerSet(name: string, parent: string, listeners: readonly string[]): Sample {
  const [namespace, own] = parent.split('/');
  return {
    kind: 'listenerSets',
    namespace: namespaceIn(name),
    object: { name, spec: { parentRef: { name: own, namespace }, listeners: listeners.map(listenerOf) } },
    text: `listenerset ${name} of ${parent} [${listeners.join(', ')}]`,
  };
}

function listenerOf(text: string, at: number) {
  const [place = '', host, from = 'All'] = text.split(' ');
  const [protocol, port] = place.split(':');
  return {
    ...{ name: `l${at}`, protocol, port: Number(port), hostname: host === '*' ? undefined : host, allowedRoutes: { namespaces: { from } } },
    ...(protocol === 'HTTPS' && { tls: { certificateRefs: [{ name: 'pair' }] } }),
    ...(protocol === 'TLS' && { tls: { mode: 'Passthrough' } }),
  };
}

export function ingress(name: string, host: Host, tls: 'tls' | 'plain' = 'plain'): Sample {
  const paths = [{ path: '/', pathType: 'Prefix', backend: { service: { name: backendOf(host), port: { number: 80 } } } }];
  const secrets = tls === 'tls' ? [{ secretName: 'pair' }] : [];
  return {
    kind: 'ingresses',
    namespace: namespaceIn(name),
    object: { name, spec: { ingressClassName: 'sluice', tls: secrets, rules: [{ host: hostnameOf(host), http: { paths } }] } },
    text: `ingress ${name} ${host} ${tls}`,
  };
}

/** `parent`: a Gateway, with `#` and the number of a listener if it is attached to that one alone. */
export function route(kind: 'httpRoutes' | 'tlsRoutes', name: string, host: Host, parent: string): Sample {
  const [of = '', listener] = parent.split('#');
  const [namespace, own] = of.split('/');
  const section = listener === undefined ? {} : { sectionName: `l${listener}` };
  const hostname = hostnameOf(host);
  return {
    kind,
    namespace: namespaceIn(name),
    object: {
      name,
      spec: {
        parentRefs: [{ name: own, namespace, ...section }],
        ...(hostname !== undefined && { hostnames: [hostname] }),
        rules: [{ backendRefs: [{ name: backendOf(host), port: 80 }] }],
      },
    },
    text: `${kind} ${name} ${host} at ${parent}`,
  };
}

const apps = NAMESPACES.flatMap((namespace, at) =>
  Object.values(SERVICES).map((name, level) => serviceOf(`${namespace}/${name}`, `10.0.${level}.${at}`)),
);
const FIXED = clusterOf({
  gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
  secrets: pairs.map(({ namespace, certificate, privateKey }) => ({
    name: `${namespace}/pair`,
    data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(privateKey) },
  })),
  authorities: authorities.map(({ namespace, ca }) => ({ name: `${namespace}/ca`, data: { 'ca.crt': ca } })),
  services: apps.map(({ service }) => service),
  slices: apps.map(({ slice }) => slice),
});

/** A cluster with these objects, each younger than those before it. */
export function worldOf(samples: readonly Sample[]): ClusterSnapshot {
  const of = (kind: Kind) =>
    samples.flatMap((one, at) =>
      one.kind === kind ? [{ ...one.object, metadata: { creationTimestamp: `${2_030 + at}-01-01T00:00:00Z` } }] : [],
    );
  const { gateways, listenerSets, ingresses, httpRoutes, tlsRoutes } = clusterOf({
    ...{
      gateways: of('gateways'),
      listenerSets: of('listenerSets'),
      ingresses: of('ingresses'),
      httpRoutes: of('httpRoutes'),
      tlsRoutes: of('tlsRoutes'),
    },
  });
  return { ...FIXED, gateways, listenerSets, ingresses, httpRoutes, tlsRoutes };
}

/** Whose target it is, and for which host: `shop a.test`. */
function targetOf(address: string | null | undefined): string | null {
  const [, level, at] = /^10\.0\.(\d)\.(\d):/.exec(address ?? '') ?? [];
  return level === undefined ? null : `${NAMESPACES[Number(at)]} ${Object.keys(SERVICES)[Number(level)]}`;
}

/** What clients get at a port. */
export type Seen = {
  /** The target that connections are passed on to, or `closed`. */
  readonly passed: string | null;
  /** The namespace whose certificate is presented. */
  readonly presents: string | null;
  /** Whether that is presented because there is no other one for the name. */
  readonly isDefault: boolean;
  /** The namespace whose client certificates are required. */
  readonly requires: string | null;
  /** The target or status of a request for `/`, or `redirect`. */
  readonly answer: string | null;
  /** The domain of the route that answers. */
  readonly by: string | null;
};

const hasHttp = ({ handles, respond, upstream }: RouteSpec): boolean => handles.length > 0 || respond !== null || upstream !== null;
const isAt = (ports: readonly number[] | undefined, port: number): boolean => ports === undefined || ports.includes(port);
export const isSecure = (port: number): boolean => port === 443 || port === 8_443;

export function seenAt({ routes, certificates }: ClusterTranslation, host: string, port: number): Seen {
  const wildcard = `*${host.slice(host.indexOf('.'))}`;
  const named = [host, wildcard, '*'].flatMap((name) => routes.find(({ domain }) => domain === name) ?? []);
  const passing = (one: RouteSpec) => (isSecure(port) ? one.tls_passthrough?.find(({ ports }) => isAt(ports, port)) : undefined);
  const isServed = (one: RouteSpec): boolean => hasHttp(one) && isAt(one.ports, port);
  const first = named.find((one) => isServed(one) || passing(one) !== undefined);
  const passed = first && passing(first);
  if (passed !== undefined)
    return {
      ...{ passed: targetOf(passed.upstreams[0]?.address) ?? 'closed', presents: null, isDefault: false, requires: null },
      ...{ answer: null, by: null },
    };
  const found = [host, wildcard, `*@:${port}`].flatMap((name) => certificates.find(({ domains }) => domains.includes(name)) ?? [])[0];
  const by = named.find(isServed);
  const ca = (by?.client_auth_at?.find(({ ports }) => isAt(ports, port)) ?? by?.client_auth)?.ca;
  return {
    passed: null,
    presents: isSecure(port)
      ? (pairs.find(({ certificate }) => certificate.trim() === found?.certificate.trim())?.namespace ?? null)
      : null,
    isDefault: found?.domains.includes(`*@:${port}`) === true,
    requires: isSecure(port) ? (authorities.find((one) => one.ca.trim() === ca?.trim())?.namespace ?? null) : null,
    answer: by === undefined ? null : answerOf(by, port),
    by: by?.domain ?? null,
  };
}

function answerOf(by: RouteSpec, port: number): string {
  if (!isSecure(port) && by.https !== 'off' && by.https_redirect !== false && by.domain !== '*') return 'redirect';
  const block = by.handles.find(({ match }) => match === null || (match?.path === undefined && isAt(match?.port, port)));
  const { upstreams, respond } = block ?? by;
  return targetOf(upstreams[0]?.address) ?? String(respond?.status);
}
