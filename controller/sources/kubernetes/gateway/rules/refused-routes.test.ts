import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../../../shared/certificates/testing/pairs.ts';
import { GATEWAY_CONTROLLER } from '../../../../../shared/name.ts';
import { translate } from '../../routes/translate.ts';
import { clusterOf, ingressOf, type SampleObject, serviceOf } from '../../testing/cluster-snapshot.ts';

const backendRefs = [{ name: 'app', port: 80 }];
const PARENTS = [{ name: 'g', namespace: 'infra', group: 'gateway.networking.k8s.io', kind: 'Gateway' }];
const route = (name: string, rule: object, hostname = 'a.test'): SampleObject => ({
  name,
  spec: { parentRefs: PARENTS, hostnames: [hostname], rules: [{ backendRefs, ...rule }] },
});
const LOGIN = { filters: [{ type: 'ExtensionRef', extensionRef: { group: 'example.org', kind: 'Login', name: 'staff' } }] };
/** A route that is not accepted, older than all others. */
const refused = (hostname?: string): SampleObject => route('odd/old', LOGIN, hostname);

const all = { namespaces: { from: 'All' } };
const HTTP = { name: 'http', protocol: 'HTTP', port: 80, allowedRoutes: all };
const PAIR = await makePair(['a.test']);

/** The route of a host, with listeners of infra/g and an application in each namespace. */
function served(objects: Parameters<typeof clusterOf>[0], listeners: readonly object[] = [HTTP]) {
  const apps = ['odd', 'shop'].map((namespace, at) => serviceOf(`${namespace}/app`, `10.0.0.${at}`));
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const { routes } = translate(
    clusterOf({
      gatewayClasses: [{ name: '/sluice', spec: { controllerName: GATEWAY_CONTROLLER } }],
      gateways: [{ name: 'infra/g', spec: { gatewayClassName: 'sluice', listeners } }],
      ...objects,
      services: apps.map(({ service }) => service),
      slices: apps.map(({ slice }) => slice),
      secrets: ['infra', 'shop'].map((namespace) => ({
        name: `${namespace}/pair`,
        data: { 'tls.crt': encoded(PAIR.certificate), 'tls.key': encoded(PAIR.privateKey) },
      })),
    }),
  );
  const host = routes.find(({ domain }) => domain === 'a.test');
  return {
    host,
    answers: host?.handles.map(({ match, upstreams, respond }) => `${match?.path?.[0] ?? '*'} ${upstreams[0]?.address ?? respond?.status}`),
  };
}

test('a route that is not accepted takes no requests from a younger one with the same match', () => {
  const { answers } = served({ httpRoutes: [refused(), route('shop/young', {})] });
  assert.equal(answers?.[0], '* 10.0.0.1:8080');
});

test('a route that is not accepted takes neither requests nor HTTPS from a younger Ingress', () => {
  const { spec, ...rest } = ingressOf('shop/web', 'a.test', 'app') as SampleObject & { readonly spec: object };
  const web = { ...rest, spec: { ...spec, tls: [{ hosts: ['a.test'], secretName: 'pair' }] } };
  const { answers, host } = served({ httpRoutes: [refused()], ingresses: [web] });
  assert.deepEqual([answers?.[0], host?.https], ['* 10.0.0.1:8080', 'provided']);
});

test('a route that is not accepted takes no TLS connections from a younger TLSRoute', () => {
  const listeners = [
    { name: 'https', protocol: 'HTTPS', port: 443, allowedRoutes: all, tls: { certificateRefs: [{ name: 'pair' }] } },
    { name: 'tls', protocol: 'TLS', port: 443, hostname: '*.test', allowedRoutes: all, tls: { mode: 'Passthrough' } },
  ];
  const passed = { name: 'shop/passed', spec: { parentRefs: PARENTS, hostnames: ['a.test'], rules: [{ backendRefs }] } };
  const { host } = served({ httpRoutes: [refused()], tlsRoutes: [passed] }, listeners);
  assert.equal(host?.tls_passthrough?.[0]?.upstreams?.[0]?.address, '10.0.0.1:8080');
});

test('an Ingress that is not accepted takes no requests from a younger route', () => {
  const metadata = { creationTimestamp: '2025-01-01T00:00:00Z', annotations: { 'sluice.dev/ip_filter': 'allow nobody' } };
  const old = { ...ingressOf('odd/old', 'a.test', 'app'), metadata };
  const { answers } = served({ ingresses: [old], httpRoutes: [route('shop/young', {})] });
  assert.deepEqual(answers, ['* 10.0.0.1:8080', '* 503']);
});

test('a route of which no request can match any rule does not take its host from an Ingress for several hosts', () => {
  const matches = [{ path: { type: 'RegularExpression', value: '(?=a)b' } }];
  const objects = { httpRoutes: [route('odd/old', { matches })], ingresses: [ingressOf('shop/web', '*.test', 'app')] };
  assert.equal(served(objects).host, undefined);
  assert.deepEqual(served({ ...objects, httpRoutes: [refused()] }).answers, ['* 500']);
});
