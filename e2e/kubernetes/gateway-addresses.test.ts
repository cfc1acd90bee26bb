import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ask } from '../harness/http.ts';
import { until } from '../harness/until.ts';
import { Cluster, clusterNetwork } from './harness/cluster.ts';
import { app, GATEWAY_CLASS, gatewayObject } from './harness/objects.ts';
import { Pair } from './harness/pair.ts';

const skip = clusterNetwork();
const ADDRESSES = ['10.77.200.1', '10.77.200.2'];

const gateway = (name: string) =>
  gatewayObject('Gateway', name, { gatewayClassName: 'sluice', listeners: [{ name: 'http', protocol: 'HTTP', port: 80 }] });
const route = (name: string, hostnames: readonly string[]) =>
  gatewayObject('HTTPRoute', name, {
    ...(hostnames.length > 0 && { hostnames }),
    parentRefs: [{ name }],
    rules: [{ backendRefs: [{ name, port: 80 }] }],
  });

test('Gateways with addresses of their own serve different routes for the same host, and keep their addresses', { skip }, async () => {
  await using cluster = await Cluster.start();
  await cluster.defineGateways();
  await cluster.apply(GATEWAY_CLASS, ...app({ name: 'first' }), ...app({ name: 'second' }));
  const flags = ['--publish-address', ADDRESSES.join()];
  await using pair = await Pair.start({ kubeconfig: cluster.kubeconfig, flags, bind: '0.0.0.0' });
  const addressesOf = async (name: string) =>
    (await cluster.kubectl(['get', 'gateway', name, '-o', 'jsonpath={.status.addresses[*].value}'])).trim();
  const reported = (name: string) => until(`the address of ${name}`, () => addressesOf(name));
  const podAt = (host: string, address: string) => async () => {
    const { status, text } = await ask({ host: address, port: pair.httpPort }, '/', { headers: { host } });
    return status === 200 ? (JSON.parse(text) as { pod: string }).pod.split('-')[0] : `${status}`;
  };
  const serves = (expected: string, host: string, address: string) =>
    until(`${expected} for ${host} at ${address}`, async () => (await podAt(host, address)()) === expected);

  await cluster.apply(gateway('first'), route('first', ['a.test']));
  const first = await reported('first');
  await cluster.apply(gateway('second'), route('second', []));
  const second = await reported('second');
  assert.deepEqual([first, second].sort(), ADDRESSES);
  await serves('first', 'a.test', first);
  await serves('404', 'b.test', first);
  // The second Gateway has every host, so that of the first one, too.
  await serves('second', 'a.test', second);
  await serves('second', 'b.test', second);

  await cluster.delete('gateway/first');
  await serves('404', 'a.test', first);
  assert.equal(await addressesOf('second'), second);
  await serves('second', 'a.test', second);
});
