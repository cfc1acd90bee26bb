import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../../testing/cluster-snapshot.ts';

const tls = (hostname: string) => ({ name: hostname, protocol: 'TLS', port: 443, hostname, tls: { mode: 'Passthrough' } });
const https = { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'b.test', tls: { certificateRefs: [{ name: 'absent' }] } };
const gateway = (name: string, ...listeners: object[]): SampleObject => ({ name, spec: { gatewayClassName: 'sluice', listeners } });

function passthroughOf(domain: string, ...gateways: readonly SampleObject[]) {
  const { routes } = translate(
    clusterOf({ gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }], gateways }),
  );
  return routes.find((route) => route.domain === domain)?.tls_passthrough;
}

test('where listeners only pass connections on, those for other names are closed, like those for a host without a route', () => {
  const closed = [{ ports: [443], upstreams: [], idle_timeout_secs: 3600 }];
  assert.deepEqual(passthroughOf('a.test', gateway('n/a', tls('a.test'))), closed);
  assert.deepEqual(passthroughOf('*', gateway('n/a', tls('a.test'))), closed);
});

test('an HTTPS listener that can’t be served ends no TLS, so it changes nothing for names that no listener has', () => {
  assert.deepEqual(passthroughOf('*', gateway('n/a', tls('a.test'), https)), [{ ports: [443], upstreams: [], idle_timeout_secs: 3600 }]);
});

const { certificate, privateKey } = await makePair(['a.test']);
const [crt = '', key = ''] = [certificate, privateKey].map((text) => Buffer.from(text).toString('base64'));

/** The ports whose connections for `a.test` are passed on, with these objects, each younger than those before it. */
function portsPassedOn(...objects: readonly (readonly ['gateways' | 'ingresses' | 'tlsRoutes', SampleObject])[]) {
  const aged = objects.map(([kind, one], at) => [kind, { ...one, metadata: { creationTimestamp: `202${at}-01-01T00:00:00Z` } }] as const);
  const of = (wanted: string) => aged.flatMap(([kind, one]) => (kind === wanted ? [one] : []));
  const { routes } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      secrets: [{ name: 'shop/pair', data: { 'tls.crt': crt, 'tls.key': key } }],
      ...{ gateways: of('gateways'), ingresses: of('ingresses'), tlsRoutes: of('tlsRoutes') },
    }),
  );
  return (routes.find((route) => route.domain === 'a.test')?.tls_passthrough ?? []).flatMap(({ ports }) => ports ?? []);
}

test('a younger listener of another namespace does not pass on the connections for a host whose TLS ends here', () => {
  const pair = { certificateRefs: [{ name: 'pair' }] };
  const ending = ['gateways', gateway('shop/g', { ...https, hostname: 'a.test', tls: pair })] as const;
  const passing = (namespace: string, port = 443) => ['gateways', gateway(`${namespace}/p`, { ...tls('a.test'), port })] as const;
  const ingress = (hasTls: boolean) => {
    const { spec, ...rest } = ingressOf('shop/web', 'a.test', 'app') as SampleObject & { readonly spec: object };
    return ['ingresses', { ...rest, spec: { ...spec, ...(hasTls && { tls: [{ hosts: ['a.test'] }] }) } }] as const;
  };
  for (const older of [ending, ingress(true)]) {
    assert.deepEqual(portsPassedOn(older, passing('odd')), []);
    assert.deepEqual(portsPassedOn(older, passing('shop')), [443]);
    assert.deepEqual(portsPassedOn(passing('odd'), older), [443]);
  }
  // The oldest Ingress of a host need not be the one with HTTPS.
  const [kind, plain] = ingress(false);
  assert.deepEqual(portsPassedOn([kind, { ...plain, name: 'shop/plain' }], ingress(true), passing('odd')), []);
  assert.deepEqual(portsPassedOn([kind, { ...plain, name: 'other/plain' }], ingress(true), passing('odd')), [443]);
  assert.deepEqual(portsPassedOn(ending, passing('odd', 8_443)), [8_443]);
  assert.deepEqual(portsPassedOn(ingress(false), passing('odd')), [443]);
});

test('a route takes no host from an older object that ends TLS, to whichever of several Gateways with the same listener it is attached', () => {
  const ending = ['gateways', gateway('shop/g', { ...https, hostname: 'a.test', tls: { certificateRefs: [{ name: 'pair' }] } })] as const;
  const passing = (name: string) => ['gateways', gateway(`odd/${name}`, tls('*.test'))] as const;
  const attachedTo = (name: string) => {
    const parentRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name }];
    return ['tlsRoutes', { name: 'odd/r', spec: { parentRefs, hostnames: ['a.test'], rules: [{ backendRefs: [] }] } }] as const;
  };
  for (const name of ['first', 'second']) {
    assert.deepEqual(portsPassedOn(ending, passing('first'), passing('second'), attachedTo(name)), []);
    assert.deepEqual(portsPassedOn(passing('first'), passing('second'), attachedTo(name), ending), [443]);
  }
});

test('a route takes no connections from a more specific listener of its Gateway that ends TLS', () => {
  const every = { ...tls('every'), hostname: undefined };
  const ending = (hostname: string) => ({ ...https, hostname, tls: { certificateRefs: [{ name: 'pair' }] } });
  const parentRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'shop', name: 'g', sectionName: 'every' }];
  const route = ['tlsRoutes', { name: 'shop/r', spec: { parentRefs, hostnames: ['a.test'], rules: [{ backendRefs: [] }] } }] as const;
  assert.deepEqual(portsPassedOn(['gateways', gateway('shop/g', every, ending('*.test'))], route), []);
  assert.deepEqual(portsPassedOn(['gateways', gateway('shop/g', every, ending('*.b.test'))], route), [443]);
  assert.deepEqual(portsPassedOn(['gateways', gateway('shop/g', every)], ['gateways', gateway('shop/h', ending('*.test'))], route), [443]);
});

test('Gateways with listeners on many ports of several addresses take away no host', () => {
  const addresses = ['10.1.0.1', '10.1.0.2'];
  const passing = (name: string, value: string): SampleObject => {
    const listeners = Array.from({ length: 12 }, (_, at) => ({ ...tls('a.test'), name: `l${at}`, port: 9_000 + at }));
    return { name, spec: { gatewayClassName: 'sluice', addresses: [{ type: 'IPAddress', value }], listeners } };
  };
  const route = (port: number): SampleObject => ({
    name: `odd/r${port}`,
    spec: {
      parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'p', port }],
      hostnames: ['a.test'],
      rules: [{ backendRefs: [{ name: `app${port % 12}`, port: 80 }] }],
    },
  });
  const apps = Array.from({ length: 12 }, (_, at) => serviceOf(`odd/app${at}`, `10.0.0.${at}`));
  const ports = Array.from({ length: 12 }, (_, at) => 9_000 + at);
  for (const tlsRoutes of [[], ports.map(route)]) {
    const snapshot = clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [passing('shop/p', '10.1.0.1'), passing('odd/p', '10.1.0.2')],
      services: apps.map(({ service }) => service),
      slices: apps.map(({ slice }) => slice),
      tlsRoutes,
    });
    const { routes, problems } = translate({ ...snapshot, addresses });
    assert.deepEqual([routes.map(({ domain }) => domain), problems], [['*', 'a.test'], []]);
    const [every, host] = routes.map(({ tls_passthrough: entries }) => entries ?? []);
    assert.deepEqual(
      every?.map((one) => [one.ports, one.local_ips]),
      [[ports, addresses]],
    );
    assert.deepEqual([host?.[0]?.ports, host?.[0]?.local_ips?.[0], host?.[0]?.upstreams], [ports, '10.1.0.1', []]);
    assert.equal(host?.length, tlsRoutes.length + 1);
  }
});

test('a listener that passes connections on closes none of an Ingress for every host with HTTPS, nor at a port mapped to that of HTTPS listeners', () => {
  const entriesFor = (domain: string, objects: Parameters<typeof clusterOf>[0], map: readonly [number, number][] = []) => {
    const { routes } = translate({
      ...clusterOf({
        gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
        secrets: [{ name: 'shop/pair', data: { 'tls.crt': crt, 'tls.key': key } }],
        ...objects,
      }),
      portMap: new Map(map),
    });
    return routes.find((route) => route.domain === domain)?.tls_passthrough?.map(({ ports }) => ports);
  };
  const passing = (port: number) => gateway('odd/g', { ...tls('b.test'), port });
  const { spec, ...rest } = ingressOf('shop/web', '', 'app') as SampleObject & { readonly spec: object };
  const secured = { ...rest, spec: { ...spec, tls: [{ secretName: 'pair' }] } };
  assert.deepEqual(entriesFor('*', { gateways: [passing(443)], ingresses: [secured] }), undefined);
  assert.deepEqual(entriesFor('*', { gateways: [passing(443)], ingresses: [{ ...rest, spec }] }), [[443]]);
  const every = { ...https, hostname: undefined, tls: { certificateRefs: [{ name: 'pair' }] } };
  assert.deepEqual(entriesFor('*', { gateways: [gateway('shop/g', every), passing(8_443)] }), [[8_443]]);
  assert.deepEqual(entriesFor('*', { gateways: [gateway('shop/g', every), passing(8_443)] }, [[443, 8_443]]), undefined);
});

test('connections are passed on to no more targets than a route may have, which would be no valid route', () => {
  const ports = Array.from({ length: 11 }, (_, at) => ({ name: `p${at}`, port: 1_000 + at }));
  const endpoints = Array.from({ length: 1_000 }, (_, at) => ({
    addresses: [`10.0.${Math.floor(at / 250)}.${at % 250}`],
    conditions: { ready: true },
  }));
  const { routes, problems } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [gateway('odd/g', tls('a.test'))],
      services: [{ name: 'odd/app', spec: { ports } }],
      slices: [{ name: 'odd/app-1', metadata: { labels: { 'kubernetes.io/service-name': 'app' } }, addressType: 'IPv4', ports, endpoints }],
      tlsRoutes: [
        {
          name: 'odd/r',
          spec: {
            parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
            hostnames: ['a.test'],
            rules: [{ backendRefs: ports.map(({ port }) => ({ name: 'app', port })) }],
          },
        },
      ],
    }),
  );
  assert.deepEqual(problems, []);
  assert.equal(routes.find(({ domain }) => domain === 'a.test')?.tls_passthrough?.[0]?.upstreams.length, 10_000);
});
