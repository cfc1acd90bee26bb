import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListedContainer } from './listed-container.ts';
import { sharedNetworks } from './shared-networks.ts';

function container(name: string, networks: Record<string, string>): ListedContainer {
  const listed = Object.entries(networks).map(([network, address]) => ({ id: `${network}-id`, name: network, addresses: [address] }));
  return { id: name, name, labels: {}, state: 'running', note: '', networks: listed };
}

const CONTAINERS = [
  container('app', { shop: '172.18.0.2' }),
  container('proxy', { edge: '172.19.0.2', shop: '172.18.0.9' }),
  container('second', { edge: '172.19.0.3' }),
];
const reach = (...dataplanes: string[][]) => {
  const found = sharedNetworks(new Map(dataplanes.map((addresses, at) => [String(at), addresses])), CONTAINERS);
  return found.kind === 'networks' ? [found.container, ...found.names, ...found.ids] : found.kind;
};

test('a data plane in a container shares the networks of the container that has its address', () => {
  assert.deepEqual(reach(['172.19.0.2', '172.18.0.9']), ['proxy', 'edge', 'shop', 'edge-id', 'shop-id']);
});

test("a data plane that has no container's address runs on the host", () => {
  assert.equal(reach(['192.168.1.5', '172.18.0.1']), 'host');
  assert.equal(reach([]), 'host');
});

test('nothing is known before a data plane has spoken', () => {
  assert.equal(reach(), 'unknown');
});

test('of several data planes only what all of them reach counts', () => {
  assert.deepEqual(reach(['172.19.0.2'], ['172.19.0.3']), ['proxy, second', 'edge', 'edge-id']);
  assert.deepEqual(reach(['192.168.1.5'], ['172.19.0.3']), ['second', 'edge', 'edge-id']);
});
