import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../../testing/cluster-snapshot.ts';

const NAMESPACES = ['shop', 'odd', 'infra'];
const encoded = (text: string) => Buffer.from(text).toString('base64');
const pairs = await Promise.all(NAMESPACES.map(async (namespace) => ({ namespace, ...(await makePair(['a.test', '*.test'])) })));
const authorities = await Promise.all(
  NAMESPACES.map(async (namespace) => ({ namespace, ca: (await makePair([namespace], { authority: true })).certificate })),
);

type Kind = 'gateways' | 'ingresses' | 'httpRoutes' | 'tlsRoutes';
type Sample = readonly [Kind, SampleObject];

/** What clients of `a.test` get at a port, with these objects, each younger than those before it. */
const tlsAt = (port: number, ...objects: readonly Sample[]) => tlsOf('a.test', port, ...objects);

/** The same for clients of another host. */
function tlsOf(name: string, port: number, ...objects: readonly Sample[]) {
  const aged = objects.map(
    ([kind, one], at) => [kind, { ...one, metadata: { ...one.metadata, creationTimestamp: `202${at}-01-01T00:00:00Z` } }] as const,
  );
  const of = (wanted: Kind) => aged.flatMap(([kind, one]) => (kind === wanted ? [one] : []));
  const apps = NAMESPACES.map((namespace, at) => serviceOf(`${namespace}/app`, `10.0.0.${at}`));
  const { routes, certificates } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      secrets: pairs.map(({ namespace, certificate, privateKey }) => ({
        name: `${namespace}/pair`,
        data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(privateKey) },
      })),
      authorities: authorities.map(({ namespace, ca }) => ({ name: `${namespace}/ca`, data: { 'ca.crt': ca } })),
      services: apps.map(({ service }) => service),
      slices: apps.map(({ slice }) => slice),
      ...{ gateways: of('gateways'), ingresses: of('ingresses'), httpRoutes: of('httpRoutes'), tlsRoutes: of('tlsRoutes') },
    }),
  );
  const host = routes.find(({ domain }) => domain === name);
  const ca = (host?.client_auth_at?.find(({ ports }) => ports === undefined || ports.includes(port)) ?? host?.client_auth)?.ca;
  const names = [name, `*${name.slice(name.indexOf('.'))}`, `*@:${port}`];
  const presented = names.map((one) => certificates.find(({ domains }) => domains.includes(one))).find((one) => one !== undefined);
  return {
    isPassedOn: host?.tls_passthrough?.some(({ ports }) => ports?.includes(port) === true) === true,
    requires: authorities.find((one) => one.ca.trim() === ca?.trim())?.namespace ?? null,
    presents: pairs.find(({ certificate }) => certificate.trim() === presented?.certificate.trim())?.namespace ?? null,
  };
}

const listener = (protocol: string, port: number, hostname?: string) => ({
  ...{ name: `${protocol}-${port}`.toLowerCase(), protocol, port, hostname, allowedRoutes: { namespaces: { from: 'All' } } },
  ...(protocol === 'HTTPS' && { tls: { certificateRefs: [{ name: 'pair' }] } }),
  ...(protocol === 'TLS' && { tls: { mode: 'Passthrough' } }),
});
const gateway = (namespace: string, ...listeners: object[]): Sample => [
  'gateways',
  { name: `${namespace}/g${listeners.length}`, spec: { gatewayClassName: 'sluice', listeners } },
];
/** Its clients on this port need certificates. */
function requiring(port: number, [kind, { spec, ...rest }]: Sample): Sample {
  const validation = { caCertificateRefs: [{ name: 'ca', kind: 'ConfigMap', group: '' }] };
  return [kind, { ...rest, spec: { ...(spec as object), tls: { frontend: { default: {}, perPort: [{ port, tls: { validation } }] } } } }];
}
/** Its clients need certificates on all ports. */
function requiringAlways([kind, { spec, ...rest }]: Sample): Sample {
  const validation = { caCertificateRefs: [{ name: 'ca', kind: 'ConfigMap', group: '' }] };
  return [kind, { ...rest, spec: { ...(spec as object), tls: { frontend: { default: { validation } } } } }];
}
function ingress(namespace: string, tls: readonly object[] = [], host = 'a.test'): Sample {
  const { spec, ...rest } = ingressOf(`${namespace}/web`, host, 'app') as SampleObject & { readonly spec: object };
  return ['ingresses', { ...rest, spec: { ...spec, tls } }];
}
/** A route to the namespace's app. `gateway` with its namespace. */
function routeOf(namespace: string, gateway: string, hostnames?: readonly string[]): Sample {
  const [of, name] = gateway.split('/');
  const rules = [{ backendRefs: [{ name: 'app', port: 80 }] }];
  return ['httpRoutes', { name: `${namespace}/route`, spec: { parentRefs: [{ name, namespace: of }], hostnames, rules } }];
}
const TLS = [{ secretName: 'pair' }];
function forEveryHost(namespace: string, tls: readonly object[], name = 'all'): Sample {
  const [kind, { spec, ...rest }] = ingress(namespace, tls);
  const { rules, ...more } = spec as { readonly rules: readonly object[] };
  return [kind, { ...rest, name: `${namespace}/${name}`, spec: { ...more, rules: rules.map((rule) => ({ ...rule, host: undefined })) } }];
}

test('the connections for an Ingress’s host are not passed on by a younger Gateway of another namespace if its HTTPS is that of a listener', () => {
  for (const hostname of [undefined, '*.test']) {
    const ending = gateway('infra', listener('HTTPS', 443, hostname));
    const passing = (namespace: string) => gateway(namespace, listener('TLS', 443, 'a.test'));
    assert.equal(tlsAt(443, ingress('shop'), ending, passing('odd')).isPassedOn, false);
    assert.equal(tlsAt(443, ingress('shop'), ending, passing('shop')).isPassedOn, true);
    assert.equal(tlsAt(443, passing('odd'), ingress('shop'), ending).isPassedOn, true);
  }
});

test('the connections for an Ingress’s host are not passed on by others either if its certificate is that of a listener on another port', () => {
  for (const owner of ['shop', 'infra'])
    for (const hostname of ['a.test', '*.test']) {
      const objects = [ingress('shop'), gateway(owner, listener('HTTPS', 8_443, hostname))] as const;
      const passing = gateway('odd', listener('TLS', 443, 'a.test'));
      assert.equal(tlsAt(443, ...objects).presents, owner);
      assert.equal(tlsAt(443, ...objects, passing).isPassedOn, false, `${owner} ${hostname}`);
      assert.equal(tlsAt(443, passing, ...objects).isPassedOn, true);
      assert.equal(tlsAt(443, objects[0], passing, objects[1]).isPassedOn, true, 'it had no HTTPS before');
    }
  const [forAll, passing] = [gateway('infra', listener('HTTPS', 8_443)), gateway('odd', listener('TLS', 443, 'a.test'))];
  assert.equal(tlsAt(443, ingress('shop'), forAll, passing).isPassedOn, true, 'that for every host is for its own port');
});

test('clients of a host need the certificates of its own Gateway although a younger one of another namespace has a listener that would pass their connections on', () => {
  const own = requiring(443, gateway('shop', listener('HTTPS', 443), listener('HTTP', 8_080, 'a.test')));
  const objects = [own, ingress('shop', TLS)];
  assert.equal(tlsAt(443, ...objects).requires, 'shop');
  for (const hostname of ['a.test', '*.test']) {
    const found = tlsAt(443, ...objects, gateway('odd', listener('TLS', 443, hostname)));
    assert.deepEqual([found.isPassedOn, found.requires], [false, 'shop'], hostname);
  }
});

test('clients of a host need the certificates of its own Gateway although a younger one of another namespace has a more specific listener', () => {
  const own = requiring(443, gateway('shop', listener('HTTPS', 443), listener('HTTP', 8_080, 'a.test')));
  for (const hostname of ['a.test', '*.test'])
    for (const port of [443, 8_443]) {
      const odd = gateway('odd', listener('HTTPS', port, hostname));
      assert.equal(tlsAt(443, own, ingress('shop', TLS), odd).requires, 'shop', `${hostname} ${port}`);
    }
});

test('clients of a host need the certificates of its own Gateway although a route of another namespace names it at an older one for HTTP', () => {
  const [open, own] = [
    gateway('shop', listener('HTTP', 80, '*.test')),
    gateway('shop', listener('HTTPS', 8_443, 'a.test'), listener('HTTP', 81)),
  ];
  const objects = [open, requiring(8_443, own), ingress('shop', TLS)] as const;
  for (const routes of [[], [routeOf('odd', 'shop/g1', ['a.test'])]])
    for (const port of [443, 8_443]) assert.equal(tlsAt(port, ...objects, ...routes).requires, 'shop');
});

test('a route of another namespace for a wildcard takes no certificate from a host below it, and requires none of its clients', () => {
  const named = gateway('shop', listener('HTTPS', 443, 'a.test'), listener('HTTP', 81));
  const wild = routeOf('odd', 'shop/g1', ['*.test']);
  assert.equal(tlsAt(443, named, gateway('shop', listener('HTTPS', 8_443)), ingress('shop'), wild).presents, 'shop');
  const other = requiring(8_443, gateway('shop', listener('HTTPS', 8_443, '*.test')));
  assert.equal(tlsAt(443, named, other, ingress('shop'), wild).requires, null);
});

test('a younger route for a wildcard at an older Gateway for every host takes no host from a listener that names it', () => {
  const infra = requiring(8_443, gateway('infra', listener('HTTPS', 8_443)));
  const [shop, wild] = [gateway('shop', listener('HTTPS', 443, 'a.test')), routeOf('odd', 'infra/g1', ['*.test'])];
  const found = tlsAt(8_443, infra, shop, ingress('shop'), wild);
  assert.deepEqual([found.presents, found.requires], ['shop', null]);
  assert.equal(tlsAt(8_443, infra, wild, shop, ingress('shop')).requires, 'infra', 'an older one does');
});

test('a host keeps the certificate of its own listener for its wildcard beside a younger Gateway of another namespace', () => {
  const own = gateway('shop', listener('HTTPS', 443, '*.test'), listener('HTTP', 80, 'a.test'));
  const odd = gateway('odd', listener('HTTPS', 443, 'a.test'));
  assert.equal(tlsAt(443, own, ingress('shop'), odd).presents, 'shop');
  assert.equal(tlsAt(443, own, odd).presents, 'odd', 'its own serves nothing on this port');
});

test('an Ingress’s host keeps the certificate that it has by an older listener for its wildcard, or for every host, beside a younger Gateway', () => {
  for (const hostname of [undefined, '*.test'])
    for (const owner of ['shop', 'infra']) {
      const objects = [ingress('shop'), gateway(owner, listener('HTTPS', 443, hostname))];
      assert.equal(tlsAt(443, ...objects).presents, owner);
      for (const port of [443, 8_443]) {
        assert.equal(tlsAt(443, ...objects, gateway('odd', listener('HTTPS', port, 'a.test'))).presents, owner, `${hostname} ${port}`);
        const own = gateway(owner, listener('HTTPS', port, 'a.test'), listener('HTTP', 8_080));
        assert.equal(tlsAt(443, ...objects, own).presents, owner);
      }
    }
  const odd = gateway('odd', listener('HTTPS', 443, 'a.test'));
  for (const others of [[], [gateway('infra', listener('HTTPS', 8_443))]])
    assert.equal(tlsAt(443, ingress('shop'), ...others, odd).presents, 'odd', 'nothing was presented on this port');
  const wild = [gateway('infra', listener('HTTPS', 8_443, '*.test')), gateway('odd', listener('HTTPS', 443, '*.test'))];
  assert.equal(tlsOf('*.test', 443, ingress('shop', [], '*.test'), ...wild).presents, 'infra');
});

test('an Ingress’s host keeps the certificate of an older listener for every host below a younger listener for its wildcard', () => {
  for (const owner of ['shop', 'infra'])
    for (const port of [443, 8_443]) {
      const [forAll, wild] = [gateway(owner, listener('HTTPS', port)), gateway('odd', listener('HTTPS', 443, '*.test'))];
      assert.equal(tlsAt(port, ingress('shop'), forAll, wild).presents, owner);
      assert.equal(tlsAt(port, ingress('shop'), wild, forAll).presents, 'odd');
      assert.equal(tlsOf('b.test', port, ingress('shop'), forAll, wild).presents, 'odd', 'nobody has this host');
    }
  const other = gateway('infra', listener('HTTPS', 443));
  const wild = gateway('odd', listener('HTTPS', 443, '*.example'));
  assert.equal(tlsOf('a.example', 443, ingress('shop', [], 'a.example'), other, wild).presents, 'odd', 'the other one is not for it');
});

test('an Ingress’s host keeps the certificate of an Ingress of its namespace for every host beside a younger Gateway', () => {
  const forAll = forEveryHost('shop', TLS);
  const odd = gateway('odd', listener('HTTPS', 8_443, 'a.test'));
  assert.equal(tlsAt(443, ingress('shop'), forAll, odd).presents, 'shop');
  assert.equal(tlsAt(443, ingress('infra'), forAll, odd).presents, 'odd');
});

test('a Gateway of another namespace with a listener for a wildcard, or for every host, requires no client certificates for a host that others share', () => {
  for (const hostname of [undefined, '*.test']) {
    const odd = requiring(443, gateway('odd', listener('HTTPS', 443, hostname)));
    const named = gateway('shop', listener('HTTPS', 8_443, 'a.test'));
    assert.equal(tlsAt(443, named, ingress('infra'), odd).requires, null);
    assert.equal(tlsAt(443, requiring(8_443, named), ingress('infra'), odd).requires, 'shop');
    assert.equal(tlsAt(443, named, odd).requires, 'odd');
    assert.equal(tlsAt(443, named, ingress('odd'), odd).requires, 'odd');
  }
});

test('a younger Gateway of another namespace requires no certificates of the clients of an Ingress, although the host belongs to a third one', () => {
  const odd = requiring(443, gateway('odd', listener('HTTPS', 443, 'a.test')));
  for (const hostname of ['a.test', '*.test', undefined]) {
    const infra = gateway('infra', listener('HTTPS', 8_443, hostname), listener('HTTP', 80, 'a.test'));
    for (const others of [[], [ingress('odd')]]) assert.equal(tlsAt(443, infra, ingress('shop'), ...others, odd).requires, null);
    assert.equal(tlsAt(443, infra, odd, ingress('shop')).requires, 'odd');
  }
});

test('what clients of an Ingress need at a port does not depend on a younger, more specific listener of another namespace there', () => {
  const taking = (hostname: string) => gateway('odd', listener('HTTPS', 443, hostname));
  const forAll = [gateway('infra', listener('HTTPS', 8_443)), routeOf('shop', 'infra/g1', ['a.test']), ingress('shop', TLS)] as const;
  const own = requiring(443, gateway('shop', listener('HTTPS', 443, '*.test')));
  assert.equal(tlsAt(443, ...forAll, own, taking('a.test')).requires, 'shop');
  const named = requiring(8_443, gateway('infra', listener('HTTPS', 8_443, 'a.test')));
  const open = gateway('infra', listener('HTTPS', 443), listener('HTTP', 81));
  assert.equal(tlsAt(443, named, open, ingress('shop', TLS), taking('*.test')).requires, null);
  const shared = requiring(443, gateway('infra', listener('HTTPS', 443), listener('HTTP', 80, 'a.test')));
  assert.equal(tlsAt(443, ingress('shop'), shared, routeOf('shop', 'infra/g2'), taking('a.test')).requires, 'infra');
});

test('a younger Ingress or route of another namespace turns on no client certificates of another port', () => {
  const infra = requiring(8_443, gateway('infra', listener('HTTPS', 8_443, '*.test'), listener('HTTP', 80, 'a.test')));
  const shop = [gateway('shop', listener('HTTPS', 443, 'a.test')), routeOf('shop', 'shop/g1', ['a.test'])] as const;
  assert.equal(tlsAt(443, infra, ...shop, ingress('odd')).requires, null);
  const [open, other] = [
    gateway('infra', listener('HTTPS', 8_443, 'a.test')),
    gateway('infra', listener('HTTPS', 443, 'a.test'), listener('HTTP', 81)),
  ];
  for (const routes of [[], [routeOf('odd', 'infra/g2')]])
    assert.equal(tlsAt(8_443, open, ingress('shop'), requiring(443, other), ...routes).requires, null);
});

test('a younger listener for HTTPS over an Ingress’s host takes no connections that are passed on', () => {
  const passing = gateway('infra', listener('TLS', 443, 'a.test'));
  for (const hostname of [undefined, '*.test'])
    assert.equal(tlsAt(443, ingress('shop'), passing, gateway('odd', listener('HTTPS', 443, hostname))).isPassedOn, true);
  const ending = gateway('shop', listener('HTTPS', 443, 'a.test'));
  assert.equal(tlsAt(443, ingress('infra'), ending, passing).isPassedOn, false, 'nor does a younger one that passes them on take others');
});

test('an Ingress’s host has the certificate of a younger Gateway if the one for every host is not presented', () => {
  const shop = gateway('shop', listener('HTTPS', 443, 'a.test'));
  const late = (namespace: string) => forEveryHost(namespace, TLS, 'late');
  assert.equal(tlsAt(443, forEveryHost('infra', []), ingress('infra'), shop, late('odd')).presents, 'shop', 'it is not the owner’s');
  assert.equal(tlsAt(443, forEveryHost('infra', []), ingress('infra'), shop, late('infra')).presents, 'infra', 'it is the owner’s');
  const odd = gateway('odd', listener('HTTPS', 443, 'a.test'));
  const every = [gateway('infra', listener('HTTP', 80)), routeOf('infra', 'infra/g1')];
  assert.equal(tlsAt(443, ...every, forEveryHost('shop', TLS), ingress('shop'), odd).presents, 'odd', 'a Gateway owns every host');
});

test('an Ingress’s host keeps the certificate of an Ingress of its namespace for every host beside Gateways that serve no other host', () => {
  const odd = gateway('odd', listener('HTTPS', 443, 'a.test'));
  const [kind, sample] = gateway('infra', listener('HTTP', 80));
  const foreign: Sample = [kind, { ...sample, spec: { ...(sample.spec as object), gatewayClassName: 'other' } }];
  for (const other of [foreign, gateway('infra', listener('TLS', 443))])
    assert.equal(tlsAt(443, other, forEveryHost('shop', TLS), ingress('shop'), odd).presents, 'shop');
});

test('the namespace of an Ingress’s host takes its connections back by a listener that ends TLS', () => {
  for (const hostname of ['a.test', '*.test', undefined]) {
    const own = gateway('shop', listener('HTTPS', 443, hostname));
    assert.equal(tlsAt(443, ingress('shop'), gateway('odd', listener('TLS', 443, 'a.test')), own).isPassedOn, false, String(hostname));
  }
});

test('a certificate for every host is not presented for an older host below its wildcard because of an Ingress for the wildcard', () => {
  for (const wild of [[], [ingress('infra', [], '*.test')]])
    assert.equal(tlsAt(443, ingress('odd'), forEveryHost('infra', TLS), ...wild).presents, null);
});

test('an Ingress that is refused takes no host from a listener that requires client certificates', () => {
  const [named, odd] = [
    gateway('shop', listener('HTTP', 8_080, 'a.test')),
    requiring(443, gateway('odd', listener('HTTPS', 443, '*.test'))),
  ];
  const [kind, sample] = ingress('infra');
  const refused: Sample = [kind, { ...sample, metadata: { annotations: { 'sluice.dev/ip_filter': 'allow nobody' } } }];
  for (const others of [[], [refused]])
    assert.equal(tlsAt(443, named, odd, routeOf('odd', 'odd/g1', ['*.test']), ...others).requires, 'odd');
});

test('a Gateway that requires client certificates on all ports requires them for the paths of an Ingress of its namespace, too', () => {
  for (const hostname of [undefined, '*.test']) {
    const shop = requiringAlways(gateway('shop', listener('HTTPS', 443, 'a.test'), listener('HTTPS', 8_443, hostname)));
    for (const own of [ingress('shop'), ingress('shop', TLS)]) {
      assert.equal(tlsAt(8_443, own, shop).requires, 'shop', String(hostname));
      assert.equal(tlsAt(443, own, shop).requires, 'shop');
    }
  }
});

test('client certificates that a listener for more hosts requires are not required where another Gateway of its namespace has the host', () => {
  const over = requiring(443, gateway('shop', listener('HTTPS', 443)));
  const exact = gateway('shop', listener('HTTPS', 443, 'a.test'), listener('HTTP', 8_080));
  for (const port of [80, 443]) assert.equal(tlsAt(port, over, exact, ingress('odd')).requires, null, `${port}`);
});

test('a listener that passes on nothing of a host turns off no client certificates for it', () => {
  const shop = requiring(8_443, gateway('shop', listener('HTTPS', 8_443), listener('TLS', 8_443, '*.test')));
  const route = routeOf('shop', 'shop/g2', ['a.test']);
  assert.equal(tlsAt(443, shop, route, ingress('shop')).requires, 'shop');
  assert.equal(tlsAt(443, ingress('shop'), shop, route).requires, 'shop');
});

test('a younger Ingress of another namespace takes no certificate from a host that a listener names', () => {
  for (const hostname of [undefined, '*.test']) {
    const over = gateway('infra', listener('HTTPS', 443, hostname));
    const owner = gateway('shop', listener('HTTP', 80, 'a.test'));
    const exact = gateway('odd', listener('HTTPS', 443, 'a.test'));
    for (const others of [[], [ingress('infra')]])
      assert.equal(tlsAt(443, over, owner, exact, ...others).presents, 'odd', String(hostname));
  }
});

test('client certificates of a port that the route of a host is not attached to are required nowhere else', () => {
  const shop = requiring(9_443, gateway('shop', listener('HTTPS', 8_443, 'a.test'), listener('HTTPS', 9_443)));
  const [kind, { spec, ...rest }] = routeOf('shop', 'shop/g2', ['a.test']);
  const parentRefs = [{ name: 'g2', namespace: 'shop', sectionName: 'https-8443' }];
  const route: Sample = [kind, { ...rest, spec: { ...(spec as object), parentRefs } }];
  for (const port of [80, 443]) assert.equal(tlsAt(port, shop, route, ingress('shop', TLS)).requires, null, `${port}`);
});

test('a Gateway passes on the connections of a host although another listener of it ends TLS over it', () => {
  const shop = gateway('shop', listener('HTTPS', 8_443, '*.test'), listener('TLS', 443, 'a.test'));
  for (const namespace of ['odd', 'infra']) assert.equal(tlsAt(443, ingress(namespace), shop).isPassedOn, true);
});

test('a younger Gateway passes on no connections of an Ingress’s host that another one of its namespace ends', () => {
  for (const hostname of [undefined, '*.test']) {
    const [ending, passing] = [
      gateway('infra', listener('HTTPS', 443, hostname)),
      gateway('infra', listener('TLS', 443, 'a.test'), listener('HTTP', 81)),
    ];
    assert.equal(tlsAt(443, ending, ingress('shop'), passing).isPassedOn, false);
    assert.equal(tlsAt(443, ingress('shop'), ending, passing).isPassedOn, false);
  }
});

test('a listener that serves a host requires its client certificates although its namespace has a more specific one', () => {
  const shop = [requiring(443, gateway('shop', listener('HTTPS', 443))), routeOf('shop', 'shop/g1', ['a.test'])] as const;
  const more = gateway('shop', listener('TLS', 443, 'a.test'), listener('HTTPS', 443, '*.test'));
  assert.equal(tlsAt(8_443, ...shop, more, ingress('odd')).requires, 'shop');
});

test('the host of an Ingress keeps the certificate of its namespace beside a younger listener for it', () => {
  const [own, other] = [gateway('shop', listener('HTTPS', 8_443, '*.test')), gateway('infra', listener('HTTPS', 443, '*.test'))];
  const odd = gateway('odd', listener('HTTPS', 8_443, 'a.test'));
  assert.equal(tlsAt(443, own, other, ingress('shop')).presents, 'shop');
  assert.equal(tlsAt(443, own, other, ingress('shop'), odd).presents, 'shop');
});

test('client certificates that a listener for every host requires are not required where its namespace passes the host on', () => {
  const passing = gateway('shop', listener('TLS', 443, 'a.test'), listener('HTTPS', 8_443, 'a.test'));
  const every = requiring(443, gateway('shop', listener('HTTPS', 443)));
  assert.equal(tlsAt(80, passing, every, ingress('odd')).requires, null);
});

test('the host of an Ingress that is younger than a listener for its wildcard has the certificate of that', () => {
  const [every, wild] = [gateway('infra', listener('HTTPS', 443)), gateway('shop', listener('HTTPS', 443, '*.test'))];
  assert.equal(tlsAt(443, every, wild, ingress('odd')).presents, 'shop');
});

test('a younger TLSRoute takes no connections of an Ingress’s host that its own Gateway ends', () => {
  const [, route] = routeOf('shop', 'shop/g2', ['a.test']);
  for (const [over, isPassedOn] of [
    [listener('HTTPS', 443), false],
    [listener('HTTP', 80), true],
  ] as const) {
    const shop = gateway('shop', over, listener('TLS', 443, '*.test'));
    assert.equal(tlsAt(443, shop, ingress('infra'), ['tlsRoutes', route]).isPassedOn, isPassedOn);
  }
});

test('a Gateway passes on a host’s connections to a route of another namespace although another listener of it ends TLS over it', () => {
  const shop = gateway('shop', listener('HTTPS', 8_443, '*.test'), listener('TLS', 443, 'a.test'));
  const [, route] = routeOf('odd', 'shop/g2', ['a.test']);
  for (const namespace of ['app', 'infra', 'shop'])
    assert.equal(tlsAt(443, ingress(namespace), shop, ['tlsRoutes', route]).isPassedOn, true);
});
