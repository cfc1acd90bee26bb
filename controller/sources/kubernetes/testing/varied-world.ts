import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import type { ClusterSnapshot } from '../routes/cluster-snapshot.ts';
import { clusterOf, type SampleObject } from './cluster-snapshot.ts';
import type { Numbers } from './random-world.ts';
import { NAMESPACES } from './shared-world.ts';

type Kind = Exclude<Extract<keyof ClusterSnapshot, keyof Parameters<typeof clusterOf>[0]>, 'users'>;
/** An object of any kind that routes depend on, valid or not. */
export type VariedObject = { readonly kind: Kind; readonly object: SampleObject };

const HOSTS = [undefined, '*.test', 'a.test', 'b.test', '*.a.test', 'x.a.test'] as const;
const SERVICES = ['app', 'more', 'empty'] as const;
const GROUP = 'gateway.networking.k8s.io';

const encoded = (text: string) => Buffer.from(text).toString('base64');
const [PAIR, OTHER] = [await makePair(['a.test', '*.test']), await makePair(['b.test'])];
const AUTHORITY = await makePair(['authority'], { authority: true });

let uids = 0;

/** Several objects are of the same age. */
function named(numbers: Numbers, namespace: string, name: string, more: object = {}): Pick<SampleObject, 'name' | 'metadata'> {
  const creationTimestamp = `2030-01-01T00:00:0${numbers.below(6)}Z`;
  return { name: `${namespace}/${name}`, metadata: { uid: `${++uids}`, creationTimestamp, ...more } };
}

const times = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));

function listener({ pick, isChance }: Numbers, at: number) {
  const protocol = pick(['HTTP', 'HTTP', 'HTTPS', 'HTTPS', 'TLS', 'TCP']);
  const certificate = { name: pick(['pair', 'pair', 'other', 'missing']), ...(isChance(0.15) && { namespace: pick(NAMESPACES) }) };
  const namespaces = { from: pick(['All', 'All', 'Same', 'Selector']), selector: { matchLabels: { team: 'a' } } };
  return {
    ...{ name: `l${at}`, protocol, port: pick(protocol === 'HTTP' ? [80, 80, 8_080] : [443, 443, 8_443]), hostname: pick(HOSTS) },
    allowedRoutes: { namespaces, ...(isChance(0.1) && { kinds: [{ kind: pick(['HTTPRoute', 'GRPCRoute', 'TLSRoute']) }] }) },
    ...(protocol === 'HTTPS' && { tls: { certificateRefs: [certificate] } }),
    ...(protocol === 'TLS' && { tls: { mode: pick(['Passthrough', 'Passthrough', 'Terminate']) } }),
  };
}

const backend = ({ pick, isChance }: Numbers) => ({
  ...{ name: pick([...SERVICES, 'missing']), port: pick([80, 80, 81]), weight: pick([0, 1, 1, 3]) },
  ...(isChance(0.15) && { namespace: pick(NAMESPACES) }),
});

const FILTERS: readonly (readonly object[])[] = [
  ...times(6, () => []),
  [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https' } }],
  [{ type: 'URLRewrite', urlRewrite: { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/new' } } }],
  [{ type: 'RequestHeaderModifier', requestHeaderModifier: { set: [{ name: 'x-a', value: 'b' }] } }],
  [{ type: 'RequestMirror', requestMirror: { backendRef: { name: 'app', port: 80 } } }],
  [{ type: 'CORS', cors: { allowOrigins: ['*'] } }],
  [{ type: 'Unknown' }],
];

const match = ({ pick, isChance }: Numbers) => ({
  ...(isChance(0.7) && {
    path: { type: pick(['Exact', 'PathPrefix', 'PathPrefix', 'RegularExpression']), value: pick(['/', '/a', '/a/b', '/a/']) },
  }),
  ...(isChance(0.2) && { method: pick(['GET', 'POST']) }),
  ...(isChance(0.2) && { headers: [{ name: pick(['x-v', 'X-V']), value: pick(['1', '2']) }] }),
});

/** What the three kinds of routes have in common. */
function attached({ pick, isChance, below }: Numbers, all: readonly VariedObject[]) {
  const parents = all.filter(({ kind }) => kind === 'gateways' || kind === 'listenerSets');
  const [namespace, name] = (parents.length === 0 ? 'shop/missing' : pick(parents).object.name).split('/');
  const kind = isChance(0.2) ? 'ListenerSet' : 'Gateway';
  const parent = {
    kind,
    namespace,
    name,
    ...(isChance(0.3) && { sectionName: `l${below(2)}` }),
    ...(isChance(0.1) && { port: pick([80, 443]) }),
  };
  return { parentRefs: [parent], hostnames: times(below(3), () => pick(HOSTS)).filter((host) => host !== undefined) };
}

const validation = ({ pick }: Numbers) => ({
  validation: { caCertificateRefs: [{ name: pick(['ca', 'missing']), kind: 'ConfigMap', group: '' }] },
});

type Maker = (numbers: Numbers, namespace: string, name: string, all: readonly VariedObject[]) => SampleObject;
const MAKERS: { readonly [kind in Kind]: Maker } = {
  gatewayClasses: (numbers) => ({ ...named(numbers, '', 'sluice'), spec: { controllerName: GATEWAY_CONTROLLER } }),
  gateways: (numbers, namespace, name) => {
    const listeners = times(1 + numbers.below(3), (at) => listener(numbers, at));
    const perPort = numbers.isChance(0.5) ? [{ port: 443, tls: validation(numbers) }] : [];
    const tls = numbers.isChance(0.2) && { tls: { frontend: { default: numbers.isChance(0.5) ? validation(numbers) : {}, perPort } } };
    const allowedListeners = { namespaces: { from: numbers.pick(['All', 'Same', 'None']) } };
    return { ...named(numbers, namespace, name), spec: { gatewayClassName: 'sluice', listeners, allowedListeners, ...tls } };
  },
  listenerSets: (numbers, namespace, name, all) => {
    const { parentRefs } = attached(numbers, all);
    const listeners = times(1 + numbers.below(2), (at) => listener(numbers, at));
    return { ...named(numbers, namespace, name), spec: { parentRef: { ...parentRefs[0], kind: 'Gateway' }, listeners } };
  },
  httpRoutes: (numbers, namespace, name, all) => {
    const rule = () => ({
      matches: times(numbers.below(3), () => match(numbers)),
      filters: numbers.pick(FILTERS),
      backendRefs: times(numbers.below(3), () => backend(numbers)),
    });
    return { ...named(numbers, namespace, name), spec: { ...attached(numbers, all), rules: times(1 + numbers.below(3), rule) } };
  },
  grpcRoutes: (numbers, namespace, name, all) => {
    const method = { service: numbers.pick(['s', undefined]), method: numbers.pick(['m', undefined]) };
    const rules = [{ matches: [{ method }], filters: numbers.pick(FILTERS), backendRefs: [backend(numbers)] }];
    return { ...named(numbers, namespace, name), spec: { ...attached(numbers, all), rules } };
  },
  tlsRoutes: (numbers, namespace, name, all) => {
    const rules = [{ backendRefs: times(1 + numbers.below(2), () => backend(numbers)) }];
    return { ...named(numbers, namespace, name), spec: { ...attached(numbers, all), rules } };
  },
  grants: (numbers, namespace, name) => {
    const from = [
      { group: GROUP, kind: numbers.pick(['HTTPRoute', 'TLSRoute', 'Gateway', 'ListenerSet']), namespace: numbers.pick(NAMESPACES) },
    ];
    return { ...named(numbers, namespace, name), spec: { from, to: [{ group: '', kind: numbers.pick(['Service', 'Secret']) }] } };
  },
  backendTlsPolicies: (numbers, namespace, name) => {
    const targetRefs = [{ group: '', kind: 'Service', name: numbers.pick(SERVICES) }];
    return {
      ...named(numbers, namespace, name),
      spec: { targetRefs, validation: { hostname: 'a.test', ...validation(numbers).validation } },
    };
  },
  ingresses: (numbers, namespace, name) => {
    const annotations = numbers.pick([
      {},
      {},
      {},
      { 'sluice.dev/https_redirect': 'off' },
      { 'sluice.dev/nonsense': 'x' },
      { 'sluice.dev/rate_limit': '10/m' },
    ]);
    const service = () => ({ service: { name: numbers.pick([...SERVICES, 'missing']), port: { number: 80 } } });
    const path = () => ({ path: numbers.pick(['/', '/a', '/a/b']), pathType: numbers.pick(['Prefix', 'Exact']), backend: service() });
    const rules = times(numbers.below(3), () => ({ host: numbers.pick(HOSTS), http: { paths: times(1 + numbers.below(2), path) } }));
    const entry = () => ({
      secretName: numbers.pick(['pair', 'other', 'missing', undefined]),
      ...(numbers.isChance(0.5) && { hosts: ['a.test'] }),
    });
    const more = numbers.isChance(0.2) && { defaultBackend: service() };
    return {
      ...named(numbers, namespace, name, { annotations }),
      spec: { ingressClassName: 'sluice', tls: times(numbers.below(2), entry), rules, ...more },
    };
  },
  services: (numbers, namespace) => ({
    ...named(numbers, namespace, numbers.pick(SERVICES)),
    spec: { ports: [{ name: 'http', port: 80 }] },
  }),
  slices: (numbers, namespace) => {
    const name = numbers.pick(['app', 'more']);
    const conditions = () => numbers.pick([{ ready: true }, { ready: false }, { ready: false, serving: true, terminating: true }]);
    const endpoints = times(numbers.below(4), () => ({ addresses: [`10.0.0.${numbers.below(20)}`], conditions: conditions() }));
    const labels = { 'kubernetes.io/service-name': name };
    return {
      ...named(numbers, namespace, `${name}-1`, { labels }),
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8_080 }],
      endpoints,
    };
  },
  secrets: (numbers, namespace) => {
    const [name, pair] = numbers.pick([['pair', PAIR] as const, ['other', OTHER] as const]);
    const certificate = numbers.isChance(0.1) ? 'not a certificate' : pair.certificate;
    return { ...named(numbers, namespace, name), data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(pair.privateKey) } };
  },
  authorities: (numbers, namespace) => ({
    ...named(numbers, namespace, 'ca'),
    data: { 'ca.crt': numbers.isChance(0.1) ? 'no authority' : AUTHORITY.certificate },
  }),
  namespaces: (numbers, namespace) => named(numbers, '', namespace, { labels: numbers.isChance(0.5) ? { team: 'a' } : {} }),
};

/** Routes and Gateways are what most is decided about. */
const KINDS: readonly Kind[] = [
  ...(['gateways', 'gateways', 'httpRoutes', 'httpRoutes', 'httpRoutes', 'ingresses', 'ingresses', 'tlsRoutes'] as const),
  ...(Object.keys(MAKERS) as Kind[]).filter((kind) => kind !== 'gatewayClasses'),
];

/** An object that may replace one of the same kind and name. */
export function variedObject(numbers: Numbers, all: readonly VariedObject[], kind: Kind = numbers.pick(KINDS)): VariedObject {
  return { kind, object: MAKERS[kind](numbers, numbers.pick(NAMESPACES), `o${numbers.below(8)}`, all) };
}

export const keyOf = ({ kind, object }: VariedObject): string => `${kind} ${object.name}`;

/** A cluster with these objects, in this order, each read by `read`. */
export function variedCluster(all: readonly VariedObject[], read: (one: VariedObject) => ClusterSnapshot): ClusterSnapshot {
  const empty = clusterOf({});
  const of = (kind: Kind) => new Map<string, unknown>(all.filter((one) => one.kind === kind).flatMap((one) => [...read(one)[kind]]));
  return { ...empty, ...Object.fromEntries((Object.keys(MAKERS) as Kind[]).map((kind) => [kind, of(kind)])) };
}

/** A cluster with one object. */
export const readVaried = ({ kind, object }: VariedObject): ClusterSnapshot => clusterOf({ [kind]: [object] });
