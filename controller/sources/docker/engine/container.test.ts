import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeId, inspectionOf } from '../testing/fake-container.ts';
import { readContainer } from './container.ts';

test('reads the parts of an inspection that routes need', () => {
  const labels = { 'sluice.domain': 'a.example', 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web' };
  const inspection = inspectionOf({
    id: fakeId(1),
    name: 'shop-web-1',
    labels,
    published: 8080,
    health: 'starting',
    stopSignal: 'SIGQUIT',
    stopTimeout: 300,
  });
  assert.deepEqual(readContainer(inspection), {
    id: fakeId(1),
    name: 'shop-web-1',
    createdAt: '2026-01-01T00:00:00.000000000Z',
    image: 'app',
    labels,
    exposedTcpPorts: [80],
    networks: [{ name: 'shop', id: 'shop-id', ipv4: '172.18.0.2', ipv6: null }],
    networkMode: 'shop',
    publishedPorts: [{ containerPort: 80, hostIp: '127.0.0.1', hostPort: 8080 }],
    status: 'running',
    health: 'starting',
    startedAt: '2026-01-01T00:00:01.000000000Z',
    finishedAt: null,
    stopSignal: 'SIGQUIT',
    stopTimeoutSecs: 300,
    composeProject: 'shop',
    composeService: 'web',
  });
});

test('UDP ports do not count as exposed ports, and ports are sorted by number', () => {
  const Config = { ExposedPorts: { '8080/tcp': {}, '53/udp': {}, '443': {}, '9/tcp': {} } };
  assert.deepEqual(readContainer({ Id: 'a', Config }).exposedTcpPorts, [9, 443, 8080]);
});

test('missing members and unknown values are absent', () => {
  const { name, status, health, startedAt, networks, labels } = readContainer({
    Id: 'abcdefabcdef0123',
    State: { Status: 'stasis', StartedAt: '0001-01-01T00:00:00Z', Health: { Status: 'none' } },
    NetworkSettings: { Networks: { shop: null, idle: { IPAddress: '' } } },
    Config: { Labels: null },
  });
  assert.deepEqual([name, status, health, startedAt, networks, labels], ['abcdefabcdef', 'exited', 'none', null, [], {}]);
});

test('only valid TCP ports are exposed ports', () => {
  const ExposedPorts = { '53/udp': {}, '8080/tcp': {}, '80': {}, '0/tcp': {}, '70000/tcp': {}, 'x/tcp': {} };
  assert.deepEqual(readContainer({ Id: 'a', Config: { ExposedPorts } }).exposedTcpPorts, [80, 8080]);
});
