import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../shared/runtime/testing/until.ts';
import { fakeCluster } from '../testing/watched.ts';
import { addressesOfService, PublishedAddresses } from './published-addresses.ts';

const metadata = { name: 'edge', uid: 'u', creationTimestamp: '2026-01-01T00:00:00Z' };
const addresses = (spec: object, ingress?: object[]) =>
  addressesOfService({ metadata, spec, ...(ingress && { status: { loadBalancer: { ingress } } }) })?.map(
    ({ kind, value }) => `${kind} ${value}`,
  ) ?? null;

test('a Service is reached at its load balancer, else at its external addresses, else at its own', () => {
  const type = 'LoadBalancer';
  assert.deepEqual(addresses({ type, clusterIP: '10.96.0.1' }, [{ ip: '203.0.113.9' }, { hostname: 'lb.example' }]), [
    'ip 203.0.113.9',
    'hostname lb.example',
  ]);
  assert.deepEqual(addresses({ type, externalIPs: ['203.0.113.2', '203.0.113.1'] }), ['ip 203.0.113.1', 'ip 203.0.113.2']);
  assert.equal(addresses({ type, clusterIP: '10.96.0.1' }), null);
  assert.deepEqual(addresses({ type: 'ClusterIP', clusterIP: '10.96.0.1', clusterIPs: ['10.96.0.1', 'fd00::1'] }), [
    'ip 10.96.0.1',
    'ip fd00::1',
  ]);
  assert.equal(addresses({ type: 'ClusterIP', clusterIP: 'None' }), null);
  assert.deepEqual(addresses({ type: 'ExternalName', externalName: 'edge.example' }), ['hostname edge.example']);
});

test('the addresses of a Service are spelled as those that Gateways request are compared', () => {
  assert.deepEqual(addresses({ externalIPs: ['2001:DB8:0:0::5', '2001:db8::5'] }), ['ip 2001:db8::5']);
  assert.deepEqual(addresses({ type: 'LoadBalancer' }, [{ ip: '2001:DB8::7' }]), ['ip 2001:db8::7']);
});

test('only the published Service is watched, and while it has no address the addresses are unknown, not empty', async (t) => {
  const { server, parts, run } = await fakeCluster(t);
  const path = '/api/v1/namespaces/sluice/services';
  let changes = 0;
  const published = new PublishedAddresses({ kind: 'service', namespace: 'sluice', name: 'edge' }, parts, () => {
    changes += 1;
  });
  run(published);
  await until('the list', () => published.problem() !== null);
  assert.match(published.problem() ?? '', /sluice\/edge of --publish-service does not exist/);
  server.put(path, { metadata: { name: 'other', namespace: 'sluice' }, spec: { clusterIP: '10.96.0.9' } });
  server.put(path, { metadata: { name: 'edge', namespace: 'sluice' }, spec: { clusterIP: '10.96.0.1' } });
  await until('the address', () => published.list() !== null);
  assert.deepEqual([published.list(), published.problem()], [[{ kind: 'ip', value: '10.96.0.1' }], null]);
  assert.ok(changes > 1);
  assert.equal(server.asked(path, 'list')[0]?.query.fieldSelector, 'metadata.name=edge');
});

test('without a published address or Service, none are reported', async (t) => {
  const { parts } = await fakeCluster(t);
  assert.deepEqual(new PublishedAddresses(null, parts, () => undefined).list(), []);
});
