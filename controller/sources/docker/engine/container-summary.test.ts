import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSummary } from './container-summary.ts';

test('published ports are the same in each order that the engine may list them in', () => {
  const ports = [
    { IP: '0.0.0.0', PrivatePort: 80, PublicPort: 8080, Type: 'tcp' },
    { IP: '::', PrivatePort: 80, PublicPort: 8080, Type: 'tcp' },
    { PrivatePort: 443, Type: 'tcp' },
    { IP: '127.0.0.1', PrivatePort: 9000, PublicPort: 9000, Type: 'tcp' },
  ];
  const [listed, reversed] = [ports, ports.toReversed()].map((Ports) => readSummary({ Id: 'a', Ports })?.container);
  assert.deepEqual(
    listed?.publishedPorts.map(({ containerPort, hostIp, hostPort }) => [containerPort, hostIp, hostPort]),
    [
      [80, '0.0.0.0', 8080],
      [80, '::', 8080],
      [9000, '127.0.0.1', 9000],
    ],
  );
  assert.deepEqual(listed?.exposedTcpPorts, [80, 443, 9000]);
  assert.equal(JSON.stringify(listed), JSON.stringify(reversed));
});
