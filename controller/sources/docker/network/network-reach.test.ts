import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readContainer } from '../engine/container.ts';
import type { ContainerSummary } from '../engine/container-summary.ts';
import { DataplaneNetworks } from './network-reach.ts';

function container(name: string, networks: Record<string, string>): ContainerSummary {
  const listed = Object.entries(networks).map(([network, address]) => ({
    id: `${network}-id`,
    name: network,
    addresses: address === '' ? [] : [address],
  }));
  return { id: name, name, labels: {}, networks: listed, container: readContainer({ Id: name }) };
}

const APP = container('app', { shop: '172.18.0.2' });
const PROXY = container('proxy', { edge: '172.19.0.2', shop: '172.18.0.9' });
const SECOND = container('second', { edge: '172.19.0.3' });

const words = (where: DataplaneNetworks) => {
  const reach = where.reach();
  return reach.kind === 'networks' ? [reach.container, ...reach.names, ...reach.ids].join(' ') : reach.kind;
};

function found(...dataplanes: string[][]): string {
  const where = new DataplaneNetworks();
  for (const [at, addresses] of dataplanes.entries()) where.reported(String(at), addresses);
  where.locate([APP, PROXY, SECOND]);
  return words(where);
}

test('a data plane in a container shares the networks of the container that has its address', () => {
  assert.equal(found(['172.19.0.2', '172.18.0.9']), 'proxy edge shop edge-id shop-id');
});

test('a data plane with published ports in Swarm reaches nobody on the network of the routing mesh', () => {
  const mesh = { id: 'la65jo7sad9bam1iz95tpdk8x', name: 'ingress', addresses: ['10.0.0.4'] };
  const attached = container('proxy', { sluice: '10.0.1.7' });
  const where = new DataplaneNetworks();
  where.reported('one', ['10.0.0.4', '10.0.1.7']);
  where.locate([{ ...attached, networks: [mesh, ...attached.networks] }]);
  assert.equal(words(where), 'proxy sluice sluice-id');
});

test("a data plane that has no container's address runs on the host", () => {
  assert.equal(found(['192.168.1.5', '172.18.0.1']), 'host');
  assert.equal(found([]), 'host');
});

test('nothing is known until a data plane has connected and all containers were listed afterwards', () => {
  assert.equal(found(), 'unknown');
  const where = new DataplaneNetworks();
  where.reported('d', ['172.19.0.2']);
  assert.equal(words(where), 'unknown');
});

test('with several data planes only networks that all of them reach count', () => {
  assert.equal(found(['172.19.0.2'], ['172.19.0.3']), 'proxy, second edge edge-id');
  assert.equal(found(['192.168.1.5'], ['172.19.0.3']), 'second edge edge-id');
  assert.equal(found(['172.19.0.3'], ['192.168.1.5']), 'second edge edge-id');
});

test('keeps its location while its container is replaced, even if its address is reused, and is located again afterwards', () => {
  const where = new DataplaneNetworks();
  where.reported('d', ['172.19.0.2', '172.18.0.9']);
  where.locate([APP, PROXY, SECOND]);
  where.locate([APP, SECOND, container('thief', { other: '172.19.0.2' })]);
  assert.equal(words(where), 'proxy edge shop edge-id shop-id');
  where.reported('d', ['172.19.0.3']);
  assert.equal(words(where), 'proxy edge shop edge-id shop-id');
  where.locate([APP, SECOND]);
  assert.equal(words(where), 'second edge edge-id');
});

test('a data plane whose container joins a network, stops or gets another address keeps its location', () => {
  const where = new DataplaneNetworks();
  where.reported('d', ['172.19.0.3']);
  where.locate([SECOND]);
  where.locate([container('second', { edge: '' })]);
  assert.equal(words(where), 'second edge edge-id');
  where.locate([container('second', { edge: '172.19.0.7', shop: '172.18.0.7' })]);
  assert.equal(words(where), 'second edge shop edge-id shop-id');
});
