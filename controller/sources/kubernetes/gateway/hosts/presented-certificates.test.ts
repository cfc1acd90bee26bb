import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import type { StatusCondition } from '../../status/conditions.ts';
import { clusterOf, ingressOf, type SampleObject } from '../../testing/cluster-snapshot.ts';

const PAIRS = {
  first: await makePair(['a.test']),
  second: await makePair(['a.test', 'b.test']),
  other: await makePair(['b.test']),
  below: await makePair(['x.a.test']),
};
type PairName = keyof typeof PAIRS;
const NAMES = Object.keys(PAIRS) as PairName[];

const https = (port: number, hostname: string | undefined, ...secrets: PairName[]) => ({
  ...{ name: `https-${port}`, protocol: 'HTTPS', port, ...(hostname && { hostname }) },
  tls: { certificateRefs: secrets.map((name) => ({ name })) },
});
const gateway = (name: string, listeners: readonly object[]): SampleObject => ({ name, spec: { gatewayClassName: 'sluice', listeners } });
const route = (hostname: string): SampleObject => ({
  name: 'shop/r',
  spec: {
    parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
    hostnames: [hostname],
    rules: [{ backendRefs: [] }],
  },
});

type Objects = Pick<Parameters<typeof clusterOf>[0], 'ingresses' | 'gateways' | 'httpRoutes'>;

/** The certificates of each host, and what the statuses of the listeners say about them. */
function presented(objects: Objects) {
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const { routes, certificates, statuses, problems } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      secrets: ['shop', 'odd'].flatMap((namespace) =>
        Object.entries(PAIRS).map(([name, { certificate, privateKey }]) => ({
          name: `${namespace}/${name}`,
          data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(privateKey) },
        })),
      ),
      ...objects,
    }),
  );
  const hosts = new Map<string, PairName[]>();
  for (const { domains, certificate } of certificates)
    for (const domain of domains) {
      const name = NAMES.find((one) => PAIRS[one].certificate.trim() === certificate.trim());
      if (name) hosts.set(domain, [...(hosts.get(domain) ?? []), name]);
    }
  const context = { current: {}, isWritten: false, addresses: [], refused: new Map(), now: 'now' };
  const told = statuses
    .filter(({ resource }) => resource.kind === 'Gateway')
    .flatMap(({ build }) => build(context)?.listeners as readonly { name: string; conditions: readonly StatusCondition[] }[])
    .flatMap(({ name, conditions }) =>
      conditions.flatMap(({ type, status, reason, message }) =>
        type === 'OverlappingTLSConfig' ? [`${name}: ${status} ${reason} ${message}`] : [],
      ),
    );
  const https = Object.fromEntries(routes.map((one) => [one.domain, one.https]));
  return { hosts: Object.fromEntries(hosts), https, told, codes: problems.map(({ code }) => code) };
}

test('a host has the certificate of its listener on the usual port, and one on another port says that its own is not presented', () => {
  for (const listeners of [
    [https(8_443, 'a.test', 'second'), https(443, 'a.test', 'first')],
    [https(443, 'a.test', 'first'), https(400, 'a.test', 'second'), { ...https(8_443, 'a.test', 'first'), name: 'same' }],
  ]) {
    const { hosts, told } = presented({ gateways: [gateway('shop/g', listeners)] });
    assert.deepEqual(hosts, { 'a.test': ['first'] });
    assert.equal(told.length, 1);
    assert.match(
      told.join(),
      /^https-(\d+): True OverlappingHostnames a\.test has one certificate on every port: that of the listener https-443 of shop\/g is presented instead of that of the listener https-\1 on port \1$/,
    );
  }
});

test('a listener whose certificate is for the host comes before the one on the usual port', () => {
  const listeners = [https(443, '*.test', 'first'), { ...https(8_443, 'x.a.test', 'below'), name: 'below' }];
  const { hosts, told } = presented({ gateways: [gateway('shop/g', listeners)], httpRoutes: [route('x.a.test')] });
  assert.deepEqual(hosts, { '*.test': ['first'], 'x.a.test': ['below'] });
  assert.match(told.join(), /^https-443: .* that of the listener below of shop\/g is presented instead of /);
});

test('what is wrong with a Gateway is reported although its certificates are not presented for more hosts than are reported', () => {
  const names = Array.from({ length: 120 }, (_, at) => `h${at}.a.test`);
  const listeners = [https(443, '*.a.test', 'first'), https(8_443, '*.a.test', 'second'), https(9_443, 'gone.test')];
  const { codes } = presented({
    gateways: [gateway('shop/g', listeners)],
    httpRoutes: names.map((name) => ({ ...route(name), name: `shop/${name}` })),
  });
  assert.deepEqual([codes.length, codes[0], codes[99]], [100, 'invalid_certificate_ref', 'certificate_not_presented']);
});

test('a listener without a host says that its certificate is not presented for a host that has another one on another port', () => {
  const listeners = [https(443, undefined, 'other'), https(8_443, 'a.test', 'first')];
  const { hosts, told } = presented({ gateways: [gateway('shop/g', listeners)], httpRoutes: [route('a.test')] });
  assert.deepEqual(hosts, { 'a.test': ['first'], '*@:443': ['other'] });
  assert.match(
    told.join(),
    /^https-443: True OverlappingHostnames a\.test has one certificate on every port: that of the listener https-8443 /,
  );
});

test('a listener for a host presents its certificate although the oldest route of the host is attached to one for every host only', () => {
  const { spec, ...rest } = route('a.test') as SampleObject & { readonly spec: object };
  const parentRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g', sectionName: 'https-443' }];
  const gateways = [gateway('shop/g', [https(443, undefined, 'other'), https(8_443, 'a.test', 'first')])];
  const { hosts } = presented({ gateways, httpRoutes: [{ ...rest, spec: { ...spec, parentRefs } }] });
  assert.deepEqual(hosts, { 'a.test': ['first'], '*@:443': ['other'] });
  const uncovered = [gateway('shop/g', [https(443, undefined, 'first'), https(8_443, 'a.test', 'other')])];
  assert.deepEqual(presented({ gateways: uncovered, httpRoutes: [{ ...rest, spec: { ...spec, parentRefs } }] }).hosts, {
    '*@:443': ['first'],
  });
});

test('of several certificates of a listener, a host has the first one that covers it', () => {
  const { hosts, told } = presented({
    gateways: [
      gateway('shop/g', [https(443, 'a.test', 'other', 'second', 'first'), { ...https(443, 'b.test', 'first', 'other'), name: 'b' }]),
    ],
  });
  assert.deepEqual([hosts, told], [{ 'a.test': ['second'], 'b.test': ['other'] }, []]);
});

test('a host of an older Ingress has its certificate, and the listener of a Gateway says so', () => {
  const { spec, ...rest } = ingressOf('shop/web', 'a.test', 'app') as SampleObject & { readonly spec: object };
  const ingresses = [
    {
      ...rest,
      metadata: { creationTimestamp: '2025-01-01T00:00:00Z' },
      spec: { ...spec, tls: [{ hosts: ['a.test'], secretName: 'first' }] },
    },
  ];
  const foreign = presented({ ingresses, gateways: [gateway('odd/g', [https(443, 'a.test', 'second')])] });
  assert.deepEqual(foreign.hosts, { 'a.test': ['first'] });
  assert.match(
    foreign.told.join(),
    /^https-443: True OverlappingHostnames a\.test belongs to an older object, whose certificate is presented /,
  );
  const own = presented({ ingresses, gateways: [gateway('shop/g', [https(443, 'a.test', 'second')])] });
  assert.deepEqual([own.hosts, own.told], [{ 'a.test': ['second'] }, []]);
});

test('listeners of a port that have hosts in common say so, because clients may use a connection to one host for another', () => {
  const on = (name: string, hostname: string | undefined, port = 443) => ({ ...https(port, hostname, 'first'), name });
  const passing = { name: 'passing', protocol: 'TLS', port: 443, hostname: 'y.b.test', tls: { mode: 'Passthrough' } };
  const listeners = [on('wild', '*.test'), on('exact', 'a.test'), on('alone', 'c.example'), on('other', 'a.test', 8_443), passing];
  const named = ({ told }: ReturnType<typeof presented>) => told.map((text) => text.replace(/ has some .*/, ''));
  assert.deepEqual(named(presented({ gateways: [gateway('shop/g', listeners)] })), [
    'wild: True OverlappingHostnames the listener exact on port 443',
    'exact: True OverlappingHostnames the listener wild on port 443',
    'passing: True OverlappingHostnames the listener wild on port 443',
  ]);
  const all = presented({ gateways: [gateway('shop/g', [...listeners, on('all', undefined)])] });
  assert.equal(
    named(all).find((text) => text.startsWith('alone')),
    'alone: True OverlappingHostnames the listener all on port 443',
  );
});

test('a host of an Ingress keeps its certificate if that of a listener for several hosts is not for it', () => {
  const { spec, ...rest } = ingressOf('shop/web', 'x.a.test', 'app') as SampleObject & { readonly spec: object };
  const ingresses = [{ ...rest, spec: { ...spec, tls: [{ hosts: ['x.a.test'], secretName: 'below' }] } }];
  const gateways = [gateway('shop/g', [https(443, '*.test', 'first')])];
  assert.deepEqual(presented({ ingresses, gateways, httpRoutes: [route('x.a.test')] }).hosts, {
    '*.test': ['first'],
    'x.a.test': ['below'],
  });
  assert.deepEqual(presented({ gateways, httpRoutes: [route('x.a.test')] }).hosts, { '*.test': ['first'], 'x.a.test': ['first'] });
});

test('a host of an Ingress whose certificate is ordered keeps it if that of a listener for several hosts is not for it', () => {
  const { spec, ...rest } = ingressOf('shop/web', 'x.a.test', 'app') as SampleObject & { readonly spec: object };
  const ingresses = [{ ...rest, spec: { ...spec, tls: [{ hosts: ['x.a.test'] }] } }];
  const objects = (secret: PairName) => ({
    ...{ ingresses, httpRoutes: [route('x.a.test')] },
    gateways: [gateway('shop/g', [https(443, '*.test', secret)])],
  });
  const ordered = presented(objects('first'));
  assert.deepEqual([ordered.https['x.a.test'], ordered.hosts], ['auto', { '*.test': ['first'] }]);
  const provided = presented(objects('below'));
  assert.deepEqual([provided.https['x.a.test'], provided.hosts['x.a.test']], ['provided', ['below']]);
});
