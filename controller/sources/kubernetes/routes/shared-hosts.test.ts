import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import type { RouteSpec } from '../../../../shared/route.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';
import { translate } from './translate.ts';

const PAIR = await makePair(['h.test']);
const encoded = (text: string) => Buffer.from(text).toString('base64');
const CLASS: SampleObject = { name: '/sluice', spec: { controllerName: 'sluice.dev/gateway-controller' } };
const APPS = [serviceOf('shop/app', '10.0.0.1'), serviceOf('odd/app', '10.0.0.2'), serviceOf('infra/app', '10.0.0.3')];

/** A Gateway that routes of every namespace may attach to. */
const gatewayFor = (hostname?: string, creationTimestamp = '2025-12-01T00:00:00Z'): SampleObject => ({
  name: 'infra/shared',
  metadata: { creationTimestamp },
  spec: {
    gatewayClassName: 'sluice',
    listeners: [{ name: 'http', protocol: 'HTTP', port: 80, hostname, allowedRoutes: { namespaces: { from: 'All' } } }],
  },
});

const httpRoute = (name: string, hostname: string, path = '/', type = 'PathPrefix'): SampleObject => ({
  name,
  spec: {
    parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'infra', name: 'shared' }],
    hostnames: [hostname],
    rules: [{ matches: [{ path: { type, value: path } }], backendRefs: [{ name: 'app', port: 80 }] }],
  },
});

/** An Ingress for all paths of `h.test` with HTTPS. */
function ingressFor(name: string, annotations: object = {}): SampleObject {
  const { spec, ...rest } = ingressOf(name, 'h.test', 'app', annotations) as SampleObject & { readonly spec: object };
  return { ...rest, spec: { ...spec, tls: [{ hosts: ['h.test'] }] } };
}

const AGES = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z'];
/** Each object is younger than those before it. */
const aged = (objects: readonly SampleObject[]): SampleObject[] =>
  objects.map(({ metadata, ...object }, at) => ({ ...object, metadata: { ...metadata, creationTimestamp: AGES[at] } }));

function hostWith(objects: readonly SampleObject[], listener?: string, createdAt?: string): RouteSpec {
  const all = aged(objects);
  const { routes } = translate(
    clusterOf({
      gatewayClasses: [CLASS],
      gateways: [gatewayFor(listener, createdAt)],
      services: APPS.map(({ service }) => service),
      slices: APPS.map(({ slice }) => slice),
      ingresses: all.filter(({ spec }) => 'ingressClassName' in (spec as object)),
      httpRoutes: all.filter(({ spec }) => 'parentRefs' in (spec as object)),
    }),
  );
  const found = routes.find(({ domain }) => domain === 'h.test');
  assert.ok(found);
  return found;
}

const targetsOf = ({ handles }: RouteSpec) => handles.map(({ upstreams }) => upstreams[0]?.address);

for (const listener of [undefined, '*.test'])
  test(`a younger route at a Gateway for ${listener ?? 'every host'} takes neither an Ingress’s path nor its HTTPS`, () => {
    const host = hostWith([ingressFor('shop/web', { 'sluice.dev/under_attack': 'on' }), httpRoute('odd/r', 'h.test')], listener);
    assert.deepEqual(targetsOf(host), ['10.0.0.1:8080', '10.0.0.2:8080']);
    assert.deepEqual([host.https, host.https_redirect, host.under_attack], ['auto', undefined, true]);
  });

test('a younger Ingress takes neither the path of a route nor decides about its host', () => {
  const host = hostWith([httpRoute('shop/r', 'h.test'), ingressFor('odd/web', { 'sluice.dev/under_attack': 'on' })]);
  assert.deepEqual(targetsOf(host), ['10.0.0.1:8080', '10.0.0.2:8080']);
  assert.deepEqual([host.https, host.https_redirect, host.under_attack], ['off', false, false]);
});

test('a host belongs to the namespace of a Gateway whose listener names it, if no older object does', () => {
  const objects = [ingressFor('shop/web', { 'sluice.dev/under_attack': 'on' }), httpRoute('infra/r', 'h.test', '/x')];
  for (const [createdAt, expected] of [
    ['2025-12-01T00:00:00Z', ['off', false, false]],
    ['2026-02-01T00:00:00Z', ['auto', undefined, true]],
  ] as const) {
    const host = hostWith(objects, 'h.test', createdAt);
    assert.deepEqual([host.https, host.https_redirect, host.under_attack], expected);
  }
});

test('an Ingress of the host leaves routes for the host itself before those for a wildcard', () => {
  const host = hostWith([
    httpRoute('shop/r', 'h.test'),
    httpRoute('odd/r', '*.test', '/admin', 'Exact'),
    ingressOf('infra/web', 'h.test', 'app'),
  ]);
  assert.deepEqual(targetsOf(host), ['10.0.0.1:8080', '10.0.0.3:8080', '10.0.0.2:8080']);
});

test('routes stay on the ports of their listeners if an Ingress has paths of their host, unless one of them is the usual port', () => {
  const portsWith = (protocol: string, port: number, annotations: object = {}) => {
    const listener = { name: 'l', protocol, port, allowedRoutes: { namespaces: { from: 'All' } } };
    const listeners = [protocol === 'HTTPS' ? { ...listener, tls: { certificateRefs: [{ name: 'pair' }] } } : listener];
    const { routes } = translate(
      clusterOf({
        gatewayClasses: [CLASS],
        gateways: [{ name: 'infra/shared', spec: { gatewayClassName: 'sluice', listeners } }],
        secrets: [{ name: 'infra/pair', data: { 'tls.crt': encoded(PAIR.certificate), 'tls.key': encoded(PAIR.privateKey) } }],
        services: APPS.map(({ service }) => service),
        slices: APPS.map(({ slice }) => slice),
        httpRoutes: [httpRoute('shop/r', 'h.test', '/internal')],
        ingresses: [ingressOf('odd/web', 'h.test', 'app', annotations)],
      }),
    );
    const host = routes.find(({ domain }) => domain === 'h.test');
    return [host?.ports, ...(host?.handles.map(({ match }) => match?.port) ?? [])];
  };
  for (const annotations of [{}, { 'sluice.dev/ip_filter': 'allow nobody' }]) {
    assert.deepEqual(portsWith('HTTP', 9_000, annotations), [undefined, [9_000], undefined]);
    assert.deepEqual(portsWith('HTTPS', 443, annotations), [undefined, [443], undefined]);
  }
  assert.deepEqual(portsWith('HTTP', 80), [undefined, undefined, undefined]);
});

test('a route for a wildcard at a listener for exactly the host keeps its precedence there, although it is attached to one for the wildcard too', () => {
  const listener = (port: number, hostname: string) => ({
    ...{ name: `l${port}`, protocol: 'HTTP', port, hostname, allowedRoutes: { namespaces: { from: 'All' } } },
  });
  for (const ingresses of [[], [ingressOf('odd/web', 'h.test', 'app')]]) {
    const { routes } = translate(
      clusterOf({
        gatewayClasses: [CLASS],
        gateways: [
          { name: 'infra/shared', spec: { gatewayClassName: 'sluice', listeners: [listener(80, '*.test'), listener(8_080, 'h.test')] } },
        ],
        services: APPS.map(({ service }) => service),
        slices: APPS.map(({ slice }) => slice),
        httpRoutes: [httpRoute('shop/r', '*.test'), httpRoute('infra/r', 'h.test')],
        ingresses,
      }),
    );
    const host = routes.find(({ domain }) => domain === 'h.test');
    const targetAt = (port: number) =>
      host?.handles.find(({ match }) => match?.port === undefined || match.port.includes(port))?.upstreams[0]?.address;
    assert.deepEqual([targetAt(80), targetAt(8_080)], ['10.0.0.3:8080', '10.0.0.1:8080']);
  }
});

test('a Gateway for every host takes no requests from an Ingress for every host, or for a wildcard, because a host has a listener elsewhere', () => {
  const gatewayAt = (name: string, port: number, hostname?: string): SampleObject => ({
    name,
    spec: { gatewayClassName: 'sluice', listeners: [{ name: 'l', protocol: 'HTTP', port, hostname }] },
  });
  const portsWith = (ingresses: readonly SampleObject[]) => {
    const gateways = [gatewayAt('infra/g', 8_080, 'h.test'), gatewayAt('odd/g', 80)];
    const { routes } = translate(clusterOf({ gatewayClasses: [CLASS], gateways, ingresses }));
    return routes.find(({ domain }) => domain === 'h.test')?.ports;
  };
  assert.deepEqual(portsWith([]), [80, 8_080]);
  for (const host of ['', '*.test']) assert.deepEqual(portsWith([ingressOf('shop/web', host, 'app')]), [8_080]);
});

test('a Gateway keeps its redirect of every host to HTTPS for a host that it names if an Ingress for a wildcard, or for every host, is added', () => {
  const listeners = [
    { name: 'http', protocol: 'HTTP', port: 80 },
    { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'h.test', tls: { certificateRefs: [{ name: 'pair' }] } },
  ];
  const parentRefs = [{ name: 'g', sectionName: 'http' }];
  const redirect = { parentRefs, rules: [{ filters: [{ type: 'RequestRedirect', requestRedirect: { scheme: 'https' } }] }] };
  for (const added of [[], [ingressOf('odd/web', '*.test', 'app')], [ingressOf('odd/web', '', 'app')]]) {
    const { routes } = translate(
      clusterOf({
        gatewayClasses: [CLASS],
        gateways: [{ name: 'shop/g', spec: { gatewayClassName: 'sluice', listeners } }],
        secrets: [{ name: 'shop/pair', data: { 'tls.crt': encoded(PAIR.certificate), 'tls.key': encoded(PAIR.privateKey) } }],
        httpRoutes: [{ name: 'shop/redirect', spec: redirect }],
        ingresses: added,
      }),
    );
    const host = routes.find(({ domain }) => domain === 'h.test');
    assert.deepEqual(host?.ports, [80, 443]);
    assert.deepEqual([host?.handles[0]?.redirects[0]?.status, host?.handles[0]?.match?.port], [302, [80]]);
  }
});

test('routes on the usual port are served over HTTPS beside an Ingress, also if another Gateway has a listener for the host elsewhere', () => {
  const data = { 'tls.crt': encoded(PAIR.certificate), 'tls.key': encoded(PAIR.privateKey) };
  const portsBeside = (...others: readonly SampleObject[]) => {
    const { routes } = translate(
      clusterOf({
        gatewayClasses: [CLASS],
        ingresses: [ingressFor('infra/web')],
        gateways: [gatewayFor(), ...others],
        secrets: ['infra', 'odd'].map((namespace) => ({ name: `${namespace}/pair`, data })),
        services: APPS.map(({ service }) => service),
        slices: APPS.map(({ slice }) => slice),
        httpRoutes: [httpRoute('shop/r', 'h.test', '/own')],
      }),
    );
    return routes.find(({ domain }) => domain === 'h.test')?.handles[0]?.match?.port;
  };
  const gatewayAt = (namespace: string, port: number): SampleObject => {
    const listener = { name: 'l', protocol: 'HTTPS', port, hostname: 'h.test', tls: { certificateRefs: [{ name: 'pair' }] } };
    return { name: `${namespace}/more`, spec: { gatewayClassName: 'sluice', listeners: [listener] } };
  };
  assert.equal(portsBeside(), undefined);
  assert.deepEqual(portsBeside(gatewayAt('odd', 8_443)), [80, 443]);
  assert.deepEqual(portsBeside(gatewayAt('odd', 443)), [80, 443]);
  assert.deepEqual(portsBeside(gatewayAt('infra', 443)), [80]);
});
