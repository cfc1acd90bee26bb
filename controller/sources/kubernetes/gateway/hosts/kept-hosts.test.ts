import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, type SampleObject, serviceOf } from '../../testing/cluster-snapshot.ts';

const all = { namespaces: { from: 'All' } };
const http = (hostname?: string) => ({ name: `http-${hostname}`, protocol: 'HTTP', port: 80, hostname, allowedRoutes: all });
const HTTPS = { name: 'https', protocol: 'HTTPS', port: 443, allowedRoutes: all, tls: { certificateRefs: [{ name: 'pair' }] } };
const PASSING = { name: 'passing', protocol: 'TLS', port: 443, hostname: '*.test', tls: { mode: 'Passthrough' }, allowedRoutes: all };

const gateway = (name: string, ...listeners: object[]) => ['gateways', { name, spec: { gatewayClassName: 'sluice', listeners } }] as const;
const spec = (hostname: string, namespace: string, name = 'g') => ({
  parentRefs: [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace, name }],
  hostnames: [hostname],
  rules: [{ backendRefs: [{ name: 'app', port: 80 }] }],
});
const route = (name: string, parent: string) => ['httpRoutes', { name, spec: spec('a.test', parent) }] as const;
const tlsRoute = (name: string, parent: string, hostname: string, of?: string) =>
  ['tlsRoutes', { name, spec: spec(hostname, parent, of) }] as const;

const { certificate, privateKey } = await makePair(['a.test']);
const [crt, key] = [certificate, privateKey].map((text) => Buffer.from(text).toString('base64'));

type Sample = readonly ['gateways' | 'httpRoutes' | 'tlsRoutes', SampleObject];

/** The route of a host, with these objects, each younger than those before it, and the problems. */
function routed(wanted: string, ...objects: readonly Sample[]) {
  const aged = objects.map(([kind, one], at) => [kind, { ...one, metadata: { creationTimestamp: `202${at}-01-01T00:00:00Z` } }] as const);
  const of = (kindOf: string) => aged.flatMap(([kind, one]) => (kind === kindOf ? [one] : []));
  const apps = ['shop', 'odd', 'infra'].map((namespace, at) => serviceOf(`${namespace}/app`, `10.0.0.${at}`));
  const { routes, problems } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      ...{ gateways: of('gateways'), httpRoutes: of('httpRoutes'), tlsRoutes: of('tlsRoutes') },
      services: apps.map(({ service }) => service),
      slices: apps.map(({ slice }) => slice),
      secrets: ['infra', 'odd', 'shop'].map((namespace) => ({ name: `${namespace}/pair`, data: { 'tls.crt': crt, 'tls.key': key } })),
    }),
  );
  return { host: routes.find(({ domain }) => domain === wanted), problems };
}

/** The targets and ports of `a.test`; if it has no route of its own, the problems. */
function served(...objects: readonly Sample[]) {
  const { host, problems } = routed('a.test', ...objects);
  if (host === undefined) return { problems: problems.map(({ origin, message }) => `${origin} ${message}`) };
  return { targets: host.handles.map(({ upstreams }) => upstreams[0]?.address), ports: host.ports };
}

/** Where the connections for a host are passed on to. */
const passedOnFor = (host: string, ...objects: readonly Sample[]) =>
  routed(host, ...objects).host?.tls_passthrough?.map(({ upstreams }) => upstreams?.[0]?.address ?? 'closed');
const passedOn = (...objects: readonly Sample[]) => passedOnFor('a.test', ...objects);

const [SHOP, ODD] = ['10.0.0.0:8080', '10.0.0.1:8080'];
const any = gateway('infra/g', http());

test('a more specific listener of another namespace takes no host from an earlier route of another Gateway', () => {
  for (const hostname of ['a.test', '*.test']) {
    const taking = [gateway('odd/g', http(hostname)), route('odd/r', 'odd')] as const;
    assert.deepEqual(served(any, route('shop/r', 'infra'), ...taking).targets, [SHOP, ODD], hostname);
    assert.deepEqual(served(any, route('shop/r', 'infra'), ...taking.slice(0, 1)).targets, [SHOP], hostname);
    assert.deepEqual(served(any, ...taking, route('shop/r', 'infra')).targets, [ODD], hostname);
  }
});

test('a more specific listener of the same Gateway or namespace has its hosts alone', () => {
  const both = gateway('infra/g', http(), { ...http('a.test'), allowedRoutes: { namespaces: { from: 'Same' } } });
  assert.deepEqual(served(both, route('shop/r', 'infra')).targets, []);
  assert.deepEqual(served(any, route('shop/r', 'infra'), gateway('shop/g', http('a.test'))).targets, []);
});

test('a route takes no connections from a more specific listener of its Gateway that passes them on', () => {
  const parts = [tlsRoute('infra/db', 'infra', '*.test'), route('odd/r', 'infra')] as const;
  const problem =
    'httproute odd/r a.test: a more specific listener of its Gateway passes the connections on, so the route gets no requests';
  assert.deepEqual(served(gateway('infra/g', HTTPS, PASSING), ...parts), { problems: [problem] });
  assert.deepEqual(served(gateway('infra/g', HTTPS, PASSING, http()), ...parts), { targets: [ODD], ports: [80] });
  assert.deepEqual(served(gateway('infra/g', HTTPS), ...parts), { targets: [ODD], ports: [443] });
});

test('a route takes no host from a more specific listener of its Gateway, although another Gateway has the most specific one', () => {
  const own = { ...http('*.test'), allowedRoutes: { namespaces: { from: 'Same' } } };
  const parts = [route('shop/r', 'infra'), gateway('odd/g', http('a.test')), route('odd/r', 'odd')] as const;
  assert.deepEqual(served(gateway('infra/g', http(), own), ...parts).targets, [ODD]);
  assert.deepEqual(served(gateway('infra/g', http(), { ...own, hostname: '*.example' }), ...parts).targets, [SHOP, ODD]);
  const passing = (hostname: string, from: string) => ({ ...PASSING, hostname, name: hostname, allowedRoutes: { namespaces: { from } } });
  const wide = passing('*.test', 'All');
  const rest = [tlsRoute('shop/r', 'infra', 'x.a.test'), gateway('odd/g', passing('x.a.test', 'All'))] as const;
  const passed = (...listeners: object[]) => passedOnFor('x.a.test', gateway('infra/g', ...listeners), ...rest);
  assert.deepEqual(passed(wide, passing('*.a.test', 'Same')), ['closed']);
  assert.deepEqual(passed(wide, passing('*.b.test', 'Same')), [SHOP]);
});

test('a more specific listener of another namespace takes no connections from an earlier route of another Gateway that passes them on', () => {
  const wide = gateway('infra/g', PASSING);
  const shop = tlsRoute('shop/r', 'infra', 'a.test');
  const taking = [gateway('odd/g', { ...PASSING, hostname: 'a.test' }), tlsRoute('odd/r', 'odd', 'a.test')] as const;
  assert.deepEqual(passedOn(wide, shop, ...taking), [SHOP]);
  assert.deepEqual(passedOn(wide, shop, ...taking.slice(0, 1)), [SHOP]);
  assert.deepEqual(passedOn(wide, ...taking, shop), [ODD]);
  assert.deepEqual(passedOn(wide, shop, gateway('shop/g', { ...PASSING, hostname: 'a.test' })), ['closed']);
});

test('a host of a route that ends TLS is not passed on by others once its namespace has a more specific listener for it', () => {
  const passing = [gateway('odd/g', { ...PASSING, hostname: 'a.test' }), tlsRoute('odd/r', 'odd', 'a.test')] as const;
  const [wide, shop] = [gateway('infra/g', HTTPS), route('shop/r', 'infra')];
  const own = gateway('shop/g', { ...HTTPS, hostname: 'a.test' });
  assert.equal(passedOn(wide, shop, ...passing), undefined);
  assert.equal(passedOn(wide, shop, ...passing, own), undefined);
  assert.deepEqual(passedOn(wide, ...passing, shop, own), [ODD]);
});

test('a younger route of another namespace that ends TLS does not keep the owner of a host from passing its connections on', () => {
  const passing = [gateway('shop/p', { ...PASSING, hostname: 'a.test' }), tlsRoute('shop/t', 'shop', 'a.test', 'p')] as const;
  const [wide, odd] = [gateway('infra/g', HTTPS), route('odd/r', 'infra')];
  const own = gateway('shop/g', { ...HTTPS, hostname: 'a.test' });
  assert.deepEqual(passedOn(own, wide, odd, ...passing), [SHOP]);
  assert.equal(passedOn(wide, odd, own, ...passing), undefined);
});

test('a host whose connections are passed on stays with its namespace once that has a more specific listener for it', () => {
  const [wide, shop] = [gateway('infra/g', PASSING), tlsRoute('shop/r', 'infra', 'a.test')];
  const ending = gateway('odd/g', { ...HTTPS, hostname: 'a.test' });
  const own = [gateway('shop/g', { ...PASSING, hostname: 'a.test' }), tlsRoute('shop/t', 'shop', 'a.test')] as const;
  assert.deepEqual(passedOn(wide, shop, ending), [SHOP]);
  assert.deepEqual(passedOn(wide, shop, ending, ...own), [SHOP]);
  assert.equal(passedOn(wide, ending, shop, ...own), undefined);
});

test('a listener that passes connections on closes none for a host that no object names there, but another port or an isolated route', () => {
  const every = { ...PASSING, hostname: undefined };
  const wide = gateway('infra/g', { ...HTTPS, hostname: '*.test' }, every);
  const elsewhere = { ...every, name: 'elsewhere', port: 8_443 };
  const portsOf = (...objects: readonly Sample[]) =>
    routed('a.test', ...objects).host?.tls_passthrough?.flatMap(({ ports }) => ports ?? []);
  const odd = gateway('odd/g', every);
  assert.equal(portsOf(wide, route('shop/r', 'infra'), odd, tlsRoute('odd/t', 'infra', 'a.test')), undefined);
  const [kind, { name, ...rest }] = tlsRoute('odd/t', 'odd', 'a.test');
  const parentRefs = [{ group: 'gateway.networking.k8s.io', kind: 'Gateway', name: 'g', sectionName: 'elsewhere' }];
  const onOther = [kind, { name, spec: { ...(rest.spec as object), parentRefs } }] as const;
  for (const hostname of ['a.test', '*.test']) {
    const ending = gateway('infra/g', { ...HTTPS, hostname });
    assert.deepEqual(portsOf(ending, route('shop/r', 'infra'), gateway('odd/g', every, elsewhere), onOther), [8_443]);
  }
});

test('a route says that other listeners have its host, if it gets no requests because of them', () => {
  const told = (...objects: readonly Sample[]) =>
    routed('a.test', ...objects).problems.flatMap(({ code, origin, message }) => (code === 'path_taken' ? [`${origin}: ${message}`] : []));
  const problem = 'httproute shop/r: a.test: other listeners have it wherever the route is attached, so the route gets no requests';
  const taking = gateway('odd/g', http('a.test'));
  assert.deepEqual(told(any, taking, route('shop/r', 'infra')), [problem]);
  assert.deepEqual(told(any, route('shop/r', 'infra'), taking), []);
  assert.deepEqual(told(gateway('infra/g', http(), { ...http(), name: 'more', port: 8_080 }), taking, route('shop/r', 'infra')), []);
});
