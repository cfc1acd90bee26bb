import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { translate } from '../routes/translate.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';

const encoded = (text: string) => Buffer.from(text).toString('base64');
const names = ['admin.test', '*.test', 'a.odd'];
const pairs = { infra: await makePair(names), odd: await makePair(names) };
const authorityOf = async (name: string) => (await makePair([name], { authority: true })).certificate;
const authorities: Readonly<Record<string, string>> = { infra: await authorityOf('infra'), odd: await authorityOf('odd') };

type Wish = { readonly port: number; readonly hostname?: string; readonly requires: boolean };

/** A Gateway for HTTPS that may require client certificates of its namespace's authority. */
const gatewayOf = (namespace: string, { port, hostname, requires }: Wish): SampleObject => ({
  name: `${namespace}/g`,
  spec: {
    gatewayClassName: 'sluice',
    listeners: [{ name: 'https', protocol: 'HTTPS', port, hostname, tls: { certificateRefs: [{ name: 'pair' }] } }],
    ...(requires && {
      tls: { frontend: { default: { validation: { caCertificateRefs: [{ name: 'ca', kind: 'ConfigMap', group: '' }] } } } },
    }),
  },
});
const routeOf = (namespace: string, host = 'admin.test'): SampleObject => ({
  name: `${namespace}/r`,
  spec: {
    parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
    hostnames: [host],
    rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
  },
});

/** The authorities that visitors of the host of the namespace `infra` need, by port, beside a younger Gateway of another namespace. */
const beside = (infra: Wish, odd: Wish, hasRoute = false) =>
  servedWith({
    gateways: [gatewayOf('infra', infra), gatewayOf('odd', odd)],
    httpRoutes: [routeOf('infra'), ...(hasRoute ? [routeOf('odd')] : [])],
  });

/** The same if the host is the one of an Ingress. */
function besideIngress(tls: readonly object[], odd: Wish, hasRoute: boolean) {
  const { spec, ...rest } = ingressOf('infra/web', 'admin.test', 'app') as SampleObject & { readonly spec: object };
  return servedWith({
    ingresses: [{ ...rest, spec: { ...spec, tls } }],
    gateways: [gatewayOf('odd', odd)],
    httpRoutes: hasRoute ? [routeOf('odd')] : [],
  });
}

/** Which authorities a route requires at a port. */
const requiredAt = ({ client_auth, client_auth_at }: RouteSpec, port: number): string | null =>
  (client_auth_at?.find(({ ports }) => ports === undefined || ports.includes(port)) ?? client_auth)?.ca ?? null;
const nameOf = (ca: string | null) => Object.keys(authorities).find((name) => authorities[name]?.trim() === ca?.trim()) ?? null;

type Objects = Pick<Parameters<typeof clusterOf>[0], 'gateways' | 'httpRoutes' | 'ingresses'>;

/** `younger` are Ingresses, like `ingresses`, which are older than all other objects. */
function servedWith({ younger = [], ...objects }: Objects & { readonly younger?: readonly SampleObject[] }) {
  const apps = ['infra', 'odd'].map((namespace, at) => serviceOf(`${namespace}/app`, `10.0.0.${at}`));
  const { routes, certificates } = translate(
    clusterOf({
      // The oldest.
      ingresses: [
        ...(objects.ingresses ?? []).map((one) => ({ ...one, metadata: { ...one.metadata, creationTimestamp: '2025-12-01T00:00:00Z' } })),
        ...younger.map((one) => ({ ...one, metadata: { ...one.metadata, creationTimestamp: '2027-12-01T00:00:00Z' } })),
      ],
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } }],
      gateways: objects.gateways ?? [],
      httpRoutes: objects.httpRoutes ?? [],
      secrets: Object.entries(pairs).map(([name, pair]) => ({
        name: `${name}/pair`,
        data: { 'tls.crt': encoded(pair.certificate), 'tls.key': encoded(pair.privateKey) },
      })),
      authorities: Object.entries(authorities).map(([name, text]) => ({ name: `${name}/ca`, data: { 'ca.crt': text } })),
      services: apps.map(({ service }) => service),
      slices: apps.map(({ slice }) => slice),
    }),
  );
  const host = routes.find(({ domain }) => domain === 'admin.test');
  assert.ok(host);
  const whose = (host.ports ?? [80, 442, 443, 8_443]).map((port) => nameOf(requiredAt(host, port)));
  const presented = Object.entries(pairs).flatMap(([name, { certificate }]) =>
    certificates.some((one) => one.domains.includes('admin.test') && one.certificate.trim() === certificate.trim()) ? [name] : [],
  );
  const { https, https_redirect: redirect } = host;
  return { whose, presented, https, redirect, ports: host.ports, targets: host.handles.map(({ upstreams }) => upstreams[0]?.address) };
}

const OWN = { port: 443, hostname: '*.test', requires: true };
const SERVED = { presented: ['infra'], https: 'provided', redirect: false, ports: [443], targets: ['10.0.0.0:8080'] };

test('a Gateway of another namespace decides nothing about the client certificates where a host is served already', () => {
  for (const hasRoute of [false, true]) {
    const odd = { port: 443, hostname: '*.test', requires: true };
    assert.deepEqual(beside(OWN, odd, hasRoute), { whose: ['infra'], ...SERVED });
    assert.deepEqual(beside({ ...OWN, requires: false }, odd, hasRoute), { whose: [null], ...SERVED });
  }
});

test('each port of a host requires the client certificates that the owner of the host there requires', () => {
  for (const hostname of [undefined, '*.test', 'admin.test'])
    for (const [own, other] of [
      [true, true],
      [true, false],
      [false, true],
    ] as const) {
      const odd = { port: 8_443, ...(hostname && { hostname }), requires: other };
      const expected = [own ? 'infra' : null, other ? 'odd' : null];
      for (const hasRoute of [false, true]) {
        const { whose, ports } = beside({ ...OWN, requires: own }, odd, hasRoute);
        assert.deepEqual([ports, whose], [[443, 8_443], expected], `${hostname} ${own} ${other}`);
      }
    }
});

test('a Gateway of another namespace presents no certificate for a host whose own Gateway has one', () => {
  const own = { ...OWN, requires: false };
  for (const hasRoute of [false, true]) {
    const odd = { port: 8_443, hostname: 'admin.test', requires: false };
    assert.deepEqual(beside(own, odd, hasRoute).presented, ['infra']);
    assert.deepEqual(beside({ port: 443, requires: false }, odd, hasRoute).presented, []);
  }
});

test('the client certificates of a host are required on every port once there is an Ingress of it, also if that is not accepted', () => {
  const { spec, ...rest } = gatewayOf('infra', { port: 443, hostname: 'admin.test', requires: true }) as SampleObject & {
    readonly spec: { readonly listeners: readonly object[] };
  };
  const listeners = [...spec.listeners, { name: 'http', protocol: 'HTTP', port: 80, hostname: 'admin.test' }];
  const objects = { gateways: [{ ...rest, spec: { ...spec, listeners } }], httpRoutes: [routeOf('infra')] };
  assert.deepEqual(servedWith(objects).whose, [null, 'infra']);
  for (const annotations of [{}, { 'sluice.dev/ip_filter': 'allow nobody' }]) {
    const ingress = { ...ingressOf('odd/web', 'admin.test', 'app', annotations) };
    assert.deepEqual(servedWith({ ...objects, younger: [ingress] }).whose, [null, 'infra', 'infra', 'infra']);
  }
});

test('a younger Gateway of another namespace presents no certificate for the host of an older listener, although its route is the first', () => {
  const [own, odd] = [443, 8_443].map((port) => ({ port, hostname: 'admin.test', requires: false }));
  assert.ok(own && odd);
  for (const httpRoutes of [[routeOf('odd'), routeOf('infra')], [routeOf('odd')]])
    assert.deepEqual(servedWith({ gateways: [gatewayOf('infra', own), gatewayOf('odd', odd)], httpRoutes }).presented, ['infra']);
  const moved = { gateways: [gatewayOf('odd', odd), gatewayOf('infra', own)], httpRoutes: [routeOf('odd'), routeOf('infra')] };
  assert.deepEqual(servedWith(moved).presented, ['odd']);
});

/** A Gateway for HTTPS at port 443 and HTTP, and the route of a redirect at its listener for HTTP. */
function redirecting(hostname: string | undefined, requires: boolean) {
  const { spec, ...rest } = gatewayOf('infra', { port: 443, ...(hostname && { hostname }), requires }) as SampleObject & {
    readonly spec: { readonly listeners: readonly object[] };
  };
  const gateway = { ...rest, spec: { ...spec, listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }, ...spec.listeners] } };
  const at = (sectionName: string) => [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g', sectionName }];
  const filters = [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https' } }];
  const redirect = (hostnames?: string[]) => ({
    name: 'infra/redirect',
    spec: { parentRefs: at('http'), hostnames, rules: [{ filters }] },
  });
  const { spec: own, ...route } = routeOf('infra') as SampleObject & { readonly spec: object };
  return { gateway, redirect, route: { ...route, spec: { ...own, parentRefs: at('https') } } };
}

test('a younger Gateway of another namespace presents no certificate for a host whose first route is a redirect to HTTPS', () => {
  for (const [hostname, presented] of [[undefined, []] as const, ['*.test', ['infra']] as const])
    for (const port of [443, 8_443]) {
      const { gateway, redirect, route } = redirecting(hostname, false);
      const odd = gatewayOf('odd', { port, hostname: 'admin.test', requires: false });
      // Both are older than the Gateway that names their host.
      const httpRoutes = [redirect(['admin.test']), route].map((one, at) => ({
        ...one,
        metadata: { creationTimestamp: `202${at}-01-01T00:00:00Z` },
      }));
      assert.deepEqual(servedWith({ gateways: [gateway, odd], httpRoutes }).presented, presented, `${hostname} ${port}`);
    }
});

test('an Ingress that is not accepted requires no client certificate where another route of the host’s Gateway redirects to HTTPS', () => {
  const { gateway, redirect, route } = redirecting('admin.test', true);
  const younger = [ingressOf('odd/web', 'admin.test', 'app', { 'sluice.dev/ip_filter': 'allow nobody' })];
  const { whose } = servedWith({ gateways: [gateway], httpRoutes: [redirect(), route], younger });
  assert.deepEqual(whose, [null, 'infra', 'infra', 'infra']);
});

test('a younger Gateway of another namespace decides nothing about the TLS of an Ingress’s host', () => {
  const own = { whose: [null, null, null, null], redirect: undefined, ports: undefined };
  for (const hasRoute of [false, true])
    for (const requires of [false, true]) {
      const odd = { port: 8_443, hostname: 'admin.test', requires };
      const targets = ['10.0.0.0:8080', ...(hasRoute && !requires ? ['10.0.0.1:8080'] : [])];
      const hosts = ['admin.test'];
      assert.deepEqual(besideIngress([{ hosts }], odd, hasRoute), { ...own, presented: [], https: 'auto', targets });
      const expected = { ...own, presented: ['infra'], https: 'provided', targets };
      assert.deepEqual(besideIngress([{ hosts, secretName: 'pair' }], odd, hasRoute), expected);
      const { whose, redirect } = besideIngress([], odd, hasRoute);
      assert.deepEqual([whose, redirect], [own.whose, false]);
    }
});

test('a host with the default certificate of its Gateway keeps it under a wildcard of another namespace that has one', () => {
  const odd = { port: 8_443, hostname: '*.test', requires: false };
  for (const hasRoute of [false, true])
    for (const requires of [false, true]) {
      const { presented, https, redirect, ports, whose } = beside({ port: 443, requires }, odd, hasRoute);
      assert.deepEqual([presented, https, redirect], [['infra'], 'provided', false]);
      assert.deepEqual(
        [ports, whose],
        [
          [443, 8_443],
          [requires ? 'infra' : null, null],
        ],
      );
    }
  const own = { name: 'infra/wild', spec: gatewayOf('infra', { ...odd, requires: false }).spec };
  const gateways = [gatewayOf('infra', { port: 443, requires: false }), own];
  assert.deepEqual(servedWith({ gateways, httpRoutes: [routeOf('infra')] }).presented, []);
});

test('a Gateway of another namespace that names an Ingress’s host does not turn on the client certificates of a listener for every host', () => {
  const own = gatewayOf('infra', { port: 8_443, requires: true });
  const odd = gatewayOf('odd', { port: 443, hostname: 'admin.test', requires: false });
  const ingresses = [ingressOf('infra/web', 'admin.test', 'app')];
  assert.deepEqual(servedWith({ ingresses, gateways: [own, odd] }).whose, [null, null, null, null]);
  const named = gatewayOf('infra', { port: 8_443, hostname: 'admin.test', requires: true });
  assert.deepEqual(servedWith({ ingresses, gateways: [named, odd] }).whose, ['infra', 'infra', 'infra', 'infra']);
});

test('an Ingress of the namespace whose listener for HTTP named the host first keeps its TLS beside a younger Gateway of another one', () => {
  const { spec, ...rest } = ingressOf('infra/web', 'admin.test', 'app') as SampleObject & { readonly spec: object };
  const younger = [{ ...rest, spec: { ...spec, tls: [{ hosts: ['admin.test'], secretName: 'pair' }] } }];
  const listeners = [{ name: 'http', protocol: 'HTTP', port: 80, hostname: 'admin.test' }];
  const own = { name: 'infra/g', spec: { gatewayClassName: 'sluice', listeners } };
  for (const requires of [false, true]) {
    const odd = gatewayOf('odd', { port: 443, hostname: 'admin.test', requires });
    const { whose, presented } = servedWith({ gateways: [own, odd], younger });
    assert.deepEqual([whose, presented], [[null, null, null, null], ['infra']]);
  }
});

test('a host keeps the certificate of its route’s Gateway, although its owner has a listener for HTTP only, beside a younger Gateway of another namespace', () => {
  const listeners = [{ name: 'http', protocol: 'HTTP', port: 9_000, hostname: 'admin.test' }];
  const named = { name: 'shop/g', spec: { gatewayClassName: 'sluice', listeners } };
  const odd = gatewayOf('odd', { port: 443, hostname: 'admin.test', requires: false });
  for (const hostname of [undefined, '*.test']) {
    const own = gatewayOf('infra', { port: 8_443, ...(hostname && { hostname }), requires: false });
    const { presented } = servedWith({ gateways: [named, own, odd], httpRoutes: [routeOf('infra')] });
    assert.deepEqual(presented, hostname ? ['infra'] : []);
  }
});

test('nor does it lose that to a Gateway of a second one because an Ingress of a third one is older, for another path', () => {
  const { spec, ...rest } = ingressOf('infra/web', 'admin.test', 'app') as SampleObject & { readonly spec: object };
  const paths = [{ path: '/other', pathType: 'Prefix', backend: { service: { name: 'app', port: { number: 80 } } } }];
  const rules = [{ host: 'admin.test', http: { paths } }];
  const younger = [
    { name: 'another/web', spec: { ...spec, rules } },
    { ...rest, spec: { ...spec, tls: [{ hosts: ['admin.test'], secretName: 'pair' }] } },
  ];
  const listeners = [{ name: 'http', protocol: 'HTTP', port: 80, hostname: 'admin.test' }];
  const own = { name: 'infra/g', spec: { gatewayClassName: 'sluice', listeners } };
  for (const requires of [false, true]) {
    const odd = gatewayOf('odd', { port: 443, hostname: 'admin.test', requires });
    const { whose, presented } = servedWith({ gateways: [own, odd], younger });
    assert.deepEqual([whose, presented], [[null, null, null, null], ['infra']]);
  }
});

test('a host keeps the certificate of the wildcard over it if an Ingress for every host, or for the wildcard, is added', () => {
  const gateways = [
    gatewayOf('infra', { port: 443, hostname: '*.test', requires: false }),
    gatewayOf('odd', { port: 8_443, hostname: 'admin.test', requires: false }),
  ];
  const httpRoutes = [routeOf('infra', '*.test')];
  const { ports, presented } = servedWith({ gateways, httpRoutes });
  assert.deepEqual([ports, presented], [[443, 8_443], ['infra']]);
  for (const host of ['', '*.test']) {
    const beside = servedWith({ gateways, httpRoutes, ingresses: [ingressOf('infra/web', host, 'app')] });
    assert.deepEqual([beside.ports, beside.presented], [[8_443], ['infra']]);
  }
});
