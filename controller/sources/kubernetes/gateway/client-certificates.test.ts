import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { translate } from '../routes/translate.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';

const encoded = (text: string) => Buffer.from(text).toString('base64');
const pair = await makePair(['h.test', '*.test']);
const authorityOf = async (name: string) => (await makePair([name], { authority: true })).certificate;
const texts = { staff: await authorityOf('staff'), guests: await authorityOf('guests') };
/** An authority that another one has signed has no root. */
const root = await makePair([], { subject: 'CN=root', authority: true });
const middle = await makePair([], { subject: 'CN=middle', authority: true, signer: root.signs });
const AUTHORITIES: Readonly<Record<string, string>> = { ...texts, rootless: middle.certificate };

type Wish = { readonly protocol?: 'HTTP'; readonly port: number; readonly hostname?: string };
const validation = (name: string) => ({ validation: { caCertificateRefs: [{ name, kind: 'ConfigMap', group: '' }] } });
const gateway = (name: string, listeners: readonly Wish[], frontend?: object): SampleObject => ({
  name,
  spec: {
    gatewayClassName: 'sluice',
    listeners: listeners.map(({ protocol = 'HTTPS', ...more }) => ({
      ...{ name: `${protocol.toLowerCase()}-${more.port}`, protocol, ...more },
      ...(protocol === 'HTTPS' && { tls: { certificateRefs: [{ name: 'pair' }] } }),
    })),
    ...(frontend && { tls: { frontend } }),
  },
});
const route = (name: string): SampleObject => ({
  name,
  spec: {
    parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
    hostnames: ['h.test'],
    rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
  },
});

type Objects = Pick<Parameters<typeof clusterOf>[0], 'gateways' | 'httpRoutes' | 'ingresses'>;

function served(objects: Objects, more: Partial<ReturnType<typeof clusterOf>> = {}) {
  const apps = ['infra', 'odd'].map((namespace, at) => serviceOf(`${namespace}/app`, `10.0.0.${at}`));
  const both = ['infra', 'odd'];
  const data = { 'tls.crt': encoded(pair.certificate), 'tls.key': encoded(pair.privateKey) };
  const cluster = clusterOf({
    gatewayClasses: [{ name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } }],
    ...objects,
    secrets: both.map((name) => ({ name: `${name}/pair`, data })),
    authorities: both.flatMap((name) =>
      Object.entries(AUTHORITIES).map(([own, ca]) => ({ name: `${name}/${own}`, data: { 'ca.crt': ca } })),
    ),
    services: apps.map(({ service }) => service),
    slices: apps.map(({ slice }) => slice),
  });
  const { routes, problems, statuses } = translate({ ...cluster, ...more });
  return {
    statuses,
    host: routes.find(({ domain }) => domain === 'h.test'),
    problems: problems.flatMap(({ code, message }) => (code === 'certificate_not_presented' ? [] : [`${code}: ${message}`])),
  };
}

/** Whose certificates a host requires at each of these ports. */
function requiredAt(host: RouteSpec | undefined, ...ports: number[]) {
  assert.ok(host);
  return ports.map((port) => {
    const { ca } = host.client_auth_at?.find((one) => one.ports === undefined || one.ports.includes(port)) ??
      host.client_auth ?? { ca: null };
    return Object.keys(AUTHORITIES).find((name) => AUTHORITIES[name]?.trim() === ca?.trim()) ?? null;
  });
}

test('an older route on another port takes no host from a listener that requires client certificates', () => {
  const { host, problems } = served({
    gateways: [
      gateway('odd/g', [{ port: 8_443, hostname: 'h.test' }]),
      gateway('infra/g', [{ port: 443, hostname: '*.test' }], { default: validation('staff') }),
    ],
    httpRoutes: [route('odd/r'), route('infra/r')],
  });
  assert.deepEqual([host?.ports, problems], [[443, 8_443], []]);
  assert.deepEqual(requiredAt(host, 443, 8_443), ['staff', null]);
  const places = host?.handles.map(({ match, upstreams }) => [match && 'port' in match && match.port, upstreams[0]?.address]);
  assert.deepEqual(places, [
    [[8_443], '10.0.0.1:8080'],
    [[443], '10.0.0.0:8080'],
  ]);
});

test('a Gateway can require other client certificates on each port, and its listeners for HTTP require none', () => {
  const listeners: Wish[] = [{ protocol: 'HTTP', port: 80 }, ...[443, 8_443, 9_443].map((port) => ({ port, hostname: 'h.test' }))];
  const perPort = [
    { port: 8_443, tls: validation('guests') },
    { port: 9_443, tls: {} },
  ];
  const { host, problems } = served({
    gateways: [gateway('infra/g', listeners, { default: validation('staff'), perPort })],
    httpRoutes: [route('infra/r')],
  });
  assert.deepEqual([host?.ports, problems], [[80, 443, 8_443, 9_443], []]);
  assert.deepEqual(requiredAt(host, 80, 443, 8_443, 9_443), [null, 'staff', 'guests', null]);
});

test('a listener without a host requires client certificates for the hosts of its routes', () => {
  const { host, problems } = served({
    gateways: [gateway('infra/g', [{ port: 443 }], { default: validation('staff') })],
    httpRoutes: [route('infra/r')],
  });
  assert.deepEqual([host?.ports, host?.https, problems], [[443], 'off', []]);
  assert.deepEqual(requiredAt(host, 443), ['staff']);
});

test('a Gateway that accepts connections without client certificates says so, for as long as it does', () => {
  const optional = (name: string) => ({ validation: { ...validation(name).validation, mode: 'AllowInsecureFallback' } });
  const insecure = (frontend: object) => {
    const gateways = [gateway('infra/g', [{ port: 443, hostname: 'h.test' }, { port: 8_443 }], frontend)];
    const { statuses } = served({ gateways });
    const current = { conditions: [{ type: 'InsecureFrontendValidationMode', status: 'True', lastTransitionTime: 'earlier' }] };
    const context = { current, isWritten: true, addresses: [], refused: new Map(), now: 'now' };
    const status = statuses.find(({ resource }) => resource.kind === 'Gateway')?.build(context);
    const conditions = status?.conditions as readonly { readonly [member in 'type' | 'status' | 'reason' | 'message']: string }[];
    return conditions.flatMap((one) =>
      one.type === 'InsecureFrontendValidationMode' ? [`${one.status} ${one.reason} ${one.message.replace(/:.*/, '')}`] : [],
    );
  };
  const said = (where: string) => [`True ConfigurationChanged AllowInsecureFallback (${where})`];
  assert.deepEqual(insecure({ default: optional('staff') }), said('tls.frontend.default'));
  const perPort = [{ port: 8_443, tls: optional('guests') }];
  assert.deepEqual(insecure({ default: validation('staff'), perPort }), said('port 8443'));
  assert.deepEqual(insecure({ default: validation('staff'), perPort: [{ port: 8_443, tls: {} }] }), []);
});

test('authorities without a root are refused, and the hosts of others are served', () => {
  const odd = gateway('odd/g', [{ port: 8_443, hostname: 'h.test' }], { default: validation('rootless') });
  const { host, problems } = served({
    gateways: [gateway('infra/g', [{ port: 443, hostname: 'h.test' }]), odd],
    httpRoutes: [route('infra/r'), route('odd/r')],
  });
  assert.deepEqual(host?.ports, [443]);
  assert.match(problems.join(), /^no_valid_cacertificate: listener https-8443: .* contains no root/);
});

test('the paths of an Ingress require what its host requires also where only Gateways of others have listeners', () => {
  const ingress = ingressOf('infra/web', 'h.test', 'app');
  for (const createdAt of ['2025-12-01T00:00:00Z', '2026-12-01T00:00:00Z'])
    for (const odd of [
      { protocol: 'HTTP', port: 80 },
      { port: 8_443, hostname: 'h.test' },
    ] as const) {
      const { host } = served({
        ingresses: [{ ...ingress, metadata: { creationTimestamp: createdAt } }],
        gateways: [gateway('infra/g', [{ port: 443, hostname: 'h.test' }], { default: validation('staff') }), gateway('odd/g', [odd])],
        httpRoutes: [route('infra/r'), route('odd/r')],
      });
      assert.deepEqual(requiredAt(host, 80, 443, 8_443), ['staff', 'staff', 'staff'], `${createdAt} ${odd.port}`);
    }
});

test('ports that connections arrive at as one have one rule', () => {
  const portMap = new Map([[443, 8_443]]);
  const { host, problems } = served(
    {
      gateways: [
        gateway('infra/g', [{ port: 443, hostname: 'h.test' }], { default: validation('staff') }),
        gateway('odd/g', [{ port: 8_443, hostname: 'h.test' }]),
      ],
      httpRoutes: [route('infra/r'), route('odd/r')],
    },
    { portMap },
  );
  assert.deepEqual(requiredAt(host, 8_443), ['staff']);
  assert.deepEqual(problems, []);
});

test('a host keeps its client certificates although others require more at a further address than a route has room for', async () => {
  const addresses = ['10.1.0.1', '10.1.0.2'];
  const at = (name: string, value: string, ports: readonly number[], frontend: object): SampleObject => {
    const { spec } = gateway(
      name,
      ports.map((port) => ({ port, hostname: 'h.test' })),
      frontend,
    ) as SampleObject & { readonly spec: object };
    return { name, spec: { ...spec, addresses: [{ type: 'IPAddress', value }] } };
  };
  const ports = [...Array.from({ length: 15 }, (_, nth) => 400 + nth), 443];
  const perPort = ports.map((port) => ({ port, tls: validation(`ca-${port}`) }));
  const configs = ['infra/staff', ...ports.map((port) => `odd/ca-${port}`)].map(async (name) => {
    const [namespace = '', own = ''] = name.split('/');
    const meta = { namespace, name: own, uid: name, createdAt: '2026-01-01T00:00:00Z', generation: 0 };
    return [name, { meta, authorities: await authorityOf(name) }] as const;
  });
  const { host, problems } = served(
    {
      gateways: [at('infra/g', '10.1.0.2', [443], { default: validation('staff') }), at('odd/g', '10.1.0.1', ports, { perPort })],
      httpRoutes: [route('infra/r')],
    },
    { addresses, authorities: new Map(await Promise.all(configs)) },
  );
  const own = host?.client_auth_at?.filter(({ local_ips: ips }) => ips?.includes('10.1.0.2'));
  assert.deepEqual([own?.map(({ ports: on }) => on), problems.length], [[[443]], 1]);
});

test('a port requires what the Gateway requires whose listener named the host first, not that of an older route of another namespace', () => {
  const named = (namespace: string, requires: boolean) =>
    gateway(`${namespace}/g`, [{ port: 443, hostname: 'h.test' }], requires ? { default: validation('staff') } : undefined);
  const httpRoutes = [route('odd/r'), route('infra/r')];
  const own = served({ gateways: [named('infra', true), named('odd', false)], httpRoutes });
  assert.deepEqual([requiredAt(own.host, 443), own.host?.handles.length, own.problems], [['staff'], 2, []]);
  const { host, problems } = served({ gateways: [named('infra', false), named('odd', true)], httpRoutes });
  // Those of the listener and of its route.
  assert.deepEqual([requiredAt(host, 443), host?.handles.length, problems.length], [[null], 1, 2]);
});

test('an Ingress of a host whose listener has no routes requires no client certificates of a younger Gateway on another port', () => {
  const { host } = served({
    gateways: [
      gateway('infra/g', [{ port: 443, hostname: 'h.test' }]),
      gateway('odd/g', [{ port: 9_443, hostname: 'h.test' }], { default: validation('staff') }),
    ],
    ingresses: [ingressOf('infra/web', 'h.test', 'app')],
  });
  assert.deepEqual(requiredAt(host, 80, 443, 8_443, 9_443), [null, null, null, null]);
});
