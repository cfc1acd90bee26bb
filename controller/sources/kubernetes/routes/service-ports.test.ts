import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Backends } from '../backends/backends.ts';
import { clusterOf, serviceOf } from '../testing/cluster-snapshot.ts';

/** What the port of a Service leads to, which has these ports. */
function resolved(port: string | number, ports: readonly object[]) {
  const { service, slice } = serviceOf('n/app', '10.0.0.1');
  const backends = new Backends(
    clusterOf({ services: [{ ...service, spec: { ports } }], slices: [{ ...slice, ports: [{ name: 'https', port: 8443 }] }] }),
  );
  const { upstreams, reason } = backends.resolve('n', { service: 'app', port });
  return reason ?? upstreams.map(({ address }) => address).join();
}

test('the number of a port that a Service has for UDP too, as with HTTP/3, is that for TCP, whichever comes first', () => {
  const ports = [
    { name: 'http3', port: 443, protocol: 'UDP' },
    { name: 'https', port: 443, protocol: 'TCP' },
  ];
  for (const list of [ports, ports.toReversed()]) assert.equal(resolved(443, list), '10.0.0.1:8443');
  assert.equal(resolved('http3', ports), 'the port http3 of the service n/app is UDP, not TCP');
  assert.equal(resolved(443, ports.slice(0, 1)), 'the port 443 of the service n/app is UDP, not TCP');
});
