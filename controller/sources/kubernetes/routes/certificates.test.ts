import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../shared/name.ts';
import { certificateSchema } from '../../../../shared/wire/apply.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';
import { translate } from './translate.ts';

const encoded = (text: string) => Buffer.from(text).toString('base64');

/** An Ingress and its TLS Secret, which has a certificate for these names; without a host it is for every host. */
async function secured(namespace: string, host: string | null, names: readonly string[]) {
  const { spec, ...ingress } = ingressOf(`${namespace}/web`, host ?? 'any.example', 'app') as SampleObject & { spec: { rules: object[] } };
  const rules = host === null ? spec.rules.map((rule) => ({ ...rule, host: undefined })) : spec.rules;
  const { certificate, privateKey } = await makePair(names);
  return {
    ingress: { ...ingress, spec: { ...spec, rules, tls: [{ secretName: 'pair' }] } },
    secret: { name: `${namespace}/pair`, data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(privateKey) } },
    ...serviceOf(`${namespace}/app`, '10.0.0.1'),
  };
}

/** The domains of the certificates, each list in its own order. Each object is younger than those before it. */
function presented(...objects: readonly Awaited<ReturnType<typeof secured>>[]) {
  const { certificates, problems } = translate(
    clusterOf({
      ingresses: objects.map(({ ingress }) => ingress),
      services: objects.map(({ service }) => service),
      slices: objects.map(({ slice }) => slice),
      secrets: objects.map(({ secret }) => secret),
    }),
  );
  for (const certificate of certificates) certificateSchema.parse({ ...certificate, source: 'kubernetes' });
  return { domains: certificates.flatMap(({ domains }) => domains.join(' ')), problems: problems.map(({ message }) => message) };
}

test('a certificate for every host is presented for its own names', async () => {
  assert.deepEqual(presented(await secured('odd', null, ['a.example', '*.b.example'])).domains, ['*.b.example a.example']);
});

test('a certificate for every host is not presented for hosts of other namespaces', async () => {
  const odd = await secured('odd', null, ['shop.example', '*.example', 'x.wild.example', 'odd.example']);
  const [shop, wild] = [
    await secured('shop', 'shop.example', ['shop.example']),
    await secured('wild', '*.wild.example', ['*.wild.example']),
  ];
  assert.deepEqual(presented(shop, wild, odd).domains, ['*.wild.example', 'odd.example', 'shop.example']);
});

test('a certificate for every host keeps its wildcard if a younger object of another namespace names a host below that', async () => {
  const all = await secured('infra', null, ['*.example']);
  const names = (...others: string[]) => others.sort();
  for (const own of ['shop.example', 'other.example']) {
    const odd = await secured('odd', 'shop.example', [own]);
    const others = own === 'shop.example' ? [own] : [];
    assert.deepEqual(presented(all, odd).domains, names('*.example', ...others));
    assert.deepEqual(presented(odd, all).domains, others);
  }
});

test('a certificate for every host keeps its names of several labels below a younger wildcard of another namespace, which stands for one', async () => {
  const all = await secured('infra', null, ['shop.example', 'x.shop.example', '*.shop.example']);
  const wild = await secured('odd', '*.example', ['*.example']);
  for (const objects of [
    [all, wild],
    [wild, all],
  ])
    assert.deepEqual(presented(...objects).domains, ['*.example', '*.shop.example x.shop.example']);
});

test('a host keeps the certificate of its namespace for every host if another namespace has the wildcard over it', async () => {
  for (const name of ['shop.example', '*.example']) {
    const all = await secured('shop', null, [name]);
    const host = { ...all, ingress: ingressOf('shop/own', 'shop.example', 'app') };
    const wild = await secured('odd', '*.example', ['*.example']);
    assert.deepEqual(presented(all, host as typeof all, wild).domains, ['*.example', 'shop.example']);
  }
});

test('an Ingress gives its host HTTPS although an older one of its namespace has its path', async () => {
  for (const host of ['shop.example', null]) {
    const shop = await secured('shop', host, ['shop.example']);
    const plain = { ...shop, ingress: { ...shop.ingress, name: 'shop/plain', spec: { ...shop.ingress.spec, tls: [] } } };
    assert.deepEqual(presented(plain, shop).domains, ['shop.example'], String(host));
    assert.deepEqual(presented(shop, plain).domains, ['shop.example'], String(host));
    const odd = await secured('odd', host, ['shop.example']);
    assert.deepEqual(presented(plain, odd).domains, [], 'those of other namespaces do not');
  }
});

/** A plain Ingress, and then others of its namespace with TLS for the same path or another: `name: [Secret, path, annotations]`. */
async function beside(
  others: Readonly<Record<string, readonly [secret: string, path: string, annotations?: Readonly<Record<string, string>>]>>,
) {
  const { ingress, secret, service, slice } = await secured('shop', 'shop.example', ['shop.example']);
  const { spec } = ingressOf('shop/web', 'shop.example', 'app') as SampleObject & { spec: { rules: { http: { paths: object[] } }[] } };
  const withPath = (path: string) =>
    spec.rules.map((rule) => ({ ...rule, http: { paths: rule.http.paths.map((one) => ({ ...one, path, pathType: 'Prefix' })) } }));
  const tls = Object.entries(others).map(([name, [secretName, path, annotations = {}]]) => {
    const hosts = { hosts: ['shop.example'] };
    return {
      ...{ ...ingress, name: `shop/${name}`, metadata: { annotations } },
      spec: { ...spec, rules: withPath(path), tls: [secretName === '' ? hosts : { ...hosts, secretName }] },
    };
  });
  const plain = { ...ingress, name: 'shop/plain', spec: { ...spec, rules: withPath('/'), tls: [] } };
  const { routes, certificates } = translate(
    clusterOf({ ingresses: [plain, ...tls], services: [service], slices: [slice], secrets: [secret] }),
  );
  return {
    https: routes[0]?.https,
    redirect: routes[0]?.https_redirect !== false,
    domains: certificates.flatMap(({ domains }) => domains),
  };
}

test('an Ingress without a path decides about HTTPS only if none with a path does, and then also about the redirect', async () => {
  const own = { https: 'provided', redirect: true, domains: ['shop.example'] };
  assert.deepEqual(await beside({ old: ['missing', '/'], young: ['pair', '/c'] }), own);
  assert.deepEqual(await beside({ old: ['', '/'], young: ['pair', '/c'] }), own);
  const off = { 'sluice.dev/https_redirect': 'off' };
  assert.deepEqual(await beside({ old: ['pair', '/', off] }), { ...own, redirect: false });
  assert.deepEqual(await beside({ old: ['pair', '/', off], young: ['pair', '/c'] }), own);
});

test('a host keeps the certificate of a Gateway beside a younger Service of its namespace that gets none of its paths', async () => {
  const { secret, service, slice } = await secured('shop', 'shop.example', ['shop.example']);
  const listener = { name: 'https', protocol: 'HTTPS', port: 443, hostname: 'shop.example', tls: { certificateRefs: [{ name: 'pair' }] } };
  const later = { creationTimestamp: '2026-02-01T00:00:00Z' };
  const annotated = serviceOf('shop/late', '10.0.0.2', { 'sluice.domain': 'shop.example', 'sluice.port': '80' });
  const served = (late: readonly (typeof annotated)[]) => {
    const { routes, certificates } = translate(
      clusterOf({
        ingresses: [ingressOf('shop/plain', 'shop.example', 'app')],
        services: [service, ...late.map((one) => one.service)],
        slices: [slice, ...late.map((one) => one.slice)],
        gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
        gateways: [{ name: 'infra/g', metadata: later, spec: { gatewayClassName: 'sluice', listeners: [listener] } }],
        secrets: [{ ...secret, name: 'infra/pair' }],
      }),
    );
    return [routes.map(({ https }) => https), certificates.flatMap(({ domains }) => domains)];
  };
  assert.deepEqual(served([]), [['provided'], ['shop.example']]);
  assert.deepEqual(served([annotated]), served([]));
});

test('a certificate for every host is not presented for hosts that have one of their own', async () => {
  const any = await secured('shop', null, ['shop.example', '*.shop.example']);
  const { secret, ingress, ...shop } = await secured('shop', 'shop.example', ['shop.example']);
  const own = { ...shop, secret: { ...secret, name: 'shop/own' }, ingress: { ...ingress, name: 'shop/own' } };
  own.ingress = { ...own.ingress, spec: { ...own.ingress.spec, tls: [{ secretName: 'own' }] } };
  assert.deepEqual(presented(any, own).domains, ['*.shop.example', 'shop.example']);
});

test('a certificate that does not fit into a line of a frame is not used, and the others are', async () => {
  const shop = await secured('shop', 'shop.example', ['shop.example']);
  const odd = await secured('odd', null, ['odd_name.example', '::1', '*@:443']);
  assert.deepEqual(presented(shop, odd).domains, ['shop.example']);
  const names = Array.from({ length: 10_000 }, (_, at) => `name-${at}.odd.example`);
  const { domains, problems } = presented(shop, await secured('odd', 'odd.example', ['odd.example', ...names]));
  assert.deepEqual(domains, ['shop.example']);
  assert.match(problems.join(), /the Secret odd\/pair: tls\.crt: the chain or its key is longer than 262144 characters/);
});

/** The domains of the certificates of a Gateway whose listeners for these hosts all name one Secret, beside a route of others. */
async function sharing(names: readonly string[], hosts: readonly string[], routed: readonly string[] = []) {
  const { certificate, privateKey } = await makePair(names);
  const tls = { certificateRefs: [{ name: 'pair' }] };
  const allowedRoutes = { namespaces: { from: 'All' } };
  const listeners = hosts.map((hostname, at) => ({ name: `l${at}`, protocol: 'HTTPS', port: 443, hostname, tls, allowedRoutes }));
  const { certificates } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [{ name: 'shop/g', spec: { gatewayClassName: 'sluice', listeners } }],
      httpRoutes: routed.map((host) => ({ name: 'odd/r', spec: { parentRefs: [{ name: 'g', namespace: 'shop' }], hostnames: [host] } })),
      secrets: [{ name: 'shop/pair', data: { 'tls.crt': encoded(certificate), 'tls.key': encoded(privateKey) } }],
    }),
  );
  return certificates.map(({ domains }) => domains.join(' '));
}

test('hosts keep the certificate of a Secret that they share with a listener for a host that is not in it', async () => {
  assert.deepEqual(await sharing(['a.example', 'b.example'], ['a.example', 'b.example', 'c.example']), [
    'a.example b.example',
    'c.example',
  ]);
});

test('a route for a host that the certificate of a wildcard does not include takes it from no other host', async () => {
  assert.deepEqual(await sharing(['*.example'], ['*.example'], ['x.shop.example']), ['*.example', 'x.shop.example']);
});
