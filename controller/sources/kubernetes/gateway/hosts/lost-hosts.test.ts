import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import type { StatusCondition } from '../../status/conditions.ts';
import { clusterOf, ingressOf, type SampleObject } from '../../testing/cluster-snapshot.ts';

const { certificate, privateKey } = await makePair(['a.test', '*.test']);
const [crt, key] = [certificate, privateKey].map((text) => Buffer.from(text).toString('base64'));
const authority = (await makePair(['authority'], { authority: true })).certificate;
const CONTEXT = { current: {}, isWritten: false, addresses: [{ kind: 'ip', value: '192.0.2.1' }], refused: new Map(), now: 'now' } as const;

const tls = (hostname: string) => ({ name: 'tls', protocol: 'TLS', port: 443, hostname, tls: { mode: 'Passthrough' } });
const https = (hostname: string) => ({
  ...{ name: 'https', protocol: 'HTTPS', port: 443, hostname },
  tls: { certificateRefs: [{ name: 'pair' }] },
});
const frontend = { default: { validation: { caCertificateRefs: [{ name: 'ca', kind: 'ConfigMap', group: '' }] } } };
const gateway = (name: string, listener: object, more: object = {}) =>
  ['gateways', { name, spec: { gatewayClassName: 'sluice', listeners: [listener], ...more } }] as const;
const httpRoute = (namespace: string) =>
  [
    'httpRoutes',
    {
      name: `${namespace}/r`,
      spec: {
        parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
        hostnames: ['a.test'],
        rules: [{ backendRefs: [] }],
      },
    },
  ] as const;
const tlsRoute = (namespace: string, ...hostnames: string[]) =>
  [
    'tlsRoutes',
    {
      name: `${namespace}/r`,
      spec: {
        parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g' }],
        hostnames,
        rules: [{ backendRefs: [{ name: 'app', port: 443 }] }],
      },
    },
  ] as const;
const ingress = (() => {
  const { spec, ...rest } = ingressOf('shop/web', 'a.test', 'app') as SampleObject & { readonly spec: object };
  return ['ingresses', { ...rest, spec: { ...spec, tls: [{ hosts: ['a.test'] }] } }] as const;
})();

type Sample = readonly ['gateways' | 'ingresses' | 'httpRoutes' | 'tlsRoutes', SampleObject];

/** What the statuses and the problems of the Gateways say, with these objects, each younger than those before it. */
function told(...objects: readonly Sample[]) {
  const aged = objects.map(([kind, one], at) => [kind, { ...one, metadata: { creationTimestamp: `202${at}-01-01T00:00:00Z` } }] as const);
  const of = (wanted: string) => aged.flatMap(([kind, one]) => (kind === wanted ? [one] : []));
  const { statuses, problems } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      secrets: ['shop', 'odd'].map((name) => ({ name: `${name}/pair`, data: { 'tls.crt': crt, 'tls.key': key } })),
      authorities: [{ name: 'odd/ca', data: { 'ca.crt': authority } }],
      ...{ gateways: of('gateways'), ingresses: of('ingresses'), tlsRoutes: of('tlsRoutes') },
      httpRoutes: of('httpRoutes'),
    }),
  );
  const conditionsOf = (namespace: string) => {
    const status = statuses.find(({ resource, meta }) => resource.kind === 'Gateway' && meta.namespace === namespace)?.build(CONTEXT);
    const [listener] = (status?.listeners ?? []) as readonly { readonly conditions: readonly StatusCondition[] }[];
    return listener?.conditions
      .filter(({ type }) => type !== 'ResolvedRefs')
      .map(({ type, status: is, reason }) => `${type}=${is} ${reason}`);
  };
  return {
    ...{ shop: conditionsOf('shop'), odd: conditionsOf('odd') },
    unpresented: problems.flatMap(({ code, origin }) => (code === 'certificate_not_presented' ? [origin] : [])),
    problems: problems.filter(({ code }) => code === 'path_taken').map(({ origin, domain, message }) => `${origin} ${domain} ${message}`),
  };
}

const GOOD = ['Accepted=True Accepted', 'Programmed=True Programmed'];
const LOST = ['Accepted=False HostnameConflict', 'Programmed=False HostnameConflict', 'Conflicted=True HostnameConflict'];

const UNPRESENTED = 'OverlappingTLSConfig=True OverlappingHostnames';

test('a listener that passes connections on says that its host belongs to an older object that ends TLS', () => {
  const younger = gateway('odd/g', tls('a.test'));
  for (const older of [gateway('shop/g', https('a.test')), ingress]) {
    const { odd, shop, problems } = told(older, younger);
    assert.deepEqual([odd, shop], [LOST, older === ingress ? undefined : GOOD]);
    assert.equal(problems.length, 1);
    assert.match(
      problems.join(),
      /^gateway odd\/g a\.test a\.test: on port 443 it belongs to an older object that ends TLS, so the listener tls does not/,
    );
  }
});

test('a listener that ends TLS says that another one passes on the connections for its host', () => {
  for (const older of ['odd', 'shop']) {
    const passing = ['gateways', { ...gateway('', tls('a.test'))[1], name: `${older}/p` }] as const;
    const { shop, problems } = told(passing, gateway('shop/g', https('a.test')));
    assert.deepEqual([shop, problems.length], [older === 'odd' ? LOST : GOOD, 1]);
    assert.match(
      problems.join(),
      /^gateway shop\/g a\.test .* the listener tls of \w+\/p, which passes connections on, so the listener https does not/,
    );
  }
});

test('a listener that has lost some of its hosts serves the others', () => {
  const { odd, problems } = told(gateway('shop/g', https('a.test')), gateway('odd/g', tls('*.test')), tlsRoute('odd', 'a.test', 'b.test'));
  assert.deepEqual([odd, problems.length], [GOOD, 1]);
  assert.match(problems.join(), /^gateway odd\/g a\.test /);
});

test('a listener that requires other client certificates than the owner of its host on the same port says that it does not serve it', () => {
  const { odd, shop, problems } = told(gateway('shop/g', https('a.test')), gateway('odd/g', https('a.test'), { tls: { frontend } }));
  assert.deepEqual([shop, odd, problems.length], [GOOD, LOST, 1]);
});

test('a listener whose certificate is not presented, because its host belongs to an older Gateway, says so', () => {
  const { odd, shop, problems, unpresented } = told(
    gateway('shop/g', https('a.test')),
    gateway('odd/g', { ...https('a.test'), port: 8_443 }),
    httpRoute('shop'),
  );
  assert.deepEqual([shop, odd, problems, unpresented], [GOOD, [...GOOD, UNPRESENTED], [], ['gateway odd/g']]);
});

test('a listener whose certificate is not presented, because its host is one of an older listener for every host, says so', () => {
  const { hostname: _, ...every } = https('a.test');
  const younger = gateway('odd/g', { ...https('a.test'), port: 8_443 });
  const { odd, shop, unpresented } = told(gateway('shop/g', every), younger, httpRoute('shop'));
  assert.deepEqual([shop, odd, unpresented], [GOOD, [...GOOD, UNPRESENTED], ['gateway odd/g']]);
});
