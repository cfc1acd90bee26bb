import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterOf, type SampleObject, serviceOf } from '../testing/cluster-snapshot.ts';
import { translate } from './translate.ts';

const ingress = (name: string, path: string, annotations: object = {}): SampleObject => ({
  name,
  metadata: { annotations },
  spec: {
    ingressClassName: 'sluice',
    rules: [
      { host: 'a.test', http: { paths: [{ path, pathType: 'Prefix', backend: { service: { name: 'app', port: { number: 80 } } } }] } },
    ],
  },
});

/** What the paths of a.test answer, and the messages. */
function served(...ingresses: readonly SampleObject[]) {
  const { service, slice } = serviceOf('n/app', '10.0.0.1');
  const { routes, problems } = translate(clusterOf({ ingresses, services: [service], slices: [slice] }));
  const route = routes.find(({ domain }) => domain === 'a.test');
  const blocks = route?.handles.map(
    ({ match, upstreams, respond }) => `${match?.path?.[0] ?? '*'} ${upstreams[0]?.address ?? respond?.status}`,
  );
  return {
    blocks,
    https: route?.https,
    rest: route?.upstreams[0]?.address ?? route?.respond?.status,
    messages: problems.map(({ message }) => message),
  };
}

test('an Ingress whose protection is not valid does not leave its paths to a less specific path of another one', () => {
  for (const annotations of [{ 'sluice.dev/ip_filter': 'allow nobody' }, { 'nginx.ingress.kubernetes.io/auth-url': 'http://login' }]) {
    const { blocks, messages } = served(ingress('n/admin', '/admin', annotations), ingress('n/web', '/'));
    assert.deepEqual(blocks, ['/admin 503', '* 10.0.0.1:8080']);
    assert.match(messages.join(), /; its paths answer 503 until then$/);
  }
});

test('an Ingress that is not accepted takes no path from a younger one that is', () => {
  const { blocks = [], rest } = served(ingress('n/old', '/', { 'sluice.dev/ip_filter': 'allow nobody' }), ingress('n/young', '/'));
  assert.deepEqual([...blocks, rest], ['10.0.0.1:8080']);
});

test('an Ingress that is not accepted does not turn HTTPS on for a host that another one has, but may for its own hosts', () => {
  const withTls = (one: SampleObject) => ({ ...one, spec: { ...(one.spec as object), tls: [{ hosts: ['a.test'] }] } });
  const refused = withTls(ingress('n/old', '/admin', { 'sluice.dev/ip_filter': 'allow nobody' }));
  assert.equal(served(refused, ingress('n/web', '/')).https, 'off');
  assert.equal(served(refused, withTls(ingress('n/web', '/'))).https, 'auto');
  assert.equal(served(refused).https, 'auto');
});
