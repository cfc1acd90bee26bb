import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GATEWAYS, type Gateway } from '../objects/gateway.ts';
import { addressesToDivide, assignAddresses } from './gateway-addresses.ts';

const gateway = (name: string, ...addresses: string[]): Gateway => reporting(name, [], ...addresses);

const reporting = (name: string, reported: readonly string[], ...addresses: string[]): Gateway =>
  GATEWAYS.read({
    status: { addresses: reported.map((value) => ({ value })) },
    metadata: { name, namespace: 'n', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
    spec: { gatewayClassName: 'sluice', addresses: addresses.map((value) => ({ type: 'IPAddress', value })) },
  } as never);

const PUBLISHED = Array.from({ length: 6 }, (_, nth) => `192.0.2.${nth}`);

test('with one address all Gateways have it, with several each has its own', () => {
  const gateways = ['a', 'b', 'c', 'd'].map((name) => gateway(name));
  assert.ok([...assignAddresses(gateways, ['192.0.2.1']).values()].every(({ kind }) => kind === 'all'));
  const assigned = [...assignAddresses(gateways, PUBLISHED).values()].map((one) => (one.kind === 'one' ? one.address : one.kind));
  assert.equal(new Set(assigned).size, 4);
});

test('a Gateway gets the address that it requests, and none if the proxy does not have it', () => {
  const [a, b, c] = [gateway('a'), gateway('b', '192.0.2.3'), gateway('c', '203.0.113.1')];
  const assigned = assignAddresses([a, b, c], PUBLISHED);
  assert.deepEqual(assigned.get(b), { kind: 'one', address: '192.0.2.3' });
  assert.deepEqual(assigned.get(c), { kind: 'none' });
  assert.notDeepEqual(assigned.get(a), assigned.get(b));
});

test('a Gateway gets the address that it requests in another spelling', () => {
  const own = gateway('a', '2001:0DB8:0:0::1');
  assert.deepEqual(assignAddresses([own], ['2001:db8::1', '2001:db8::2']).get(own), { kind: 'one', address: '2001:db8::1' });
});

test('a Gateway keeps the address that it reports, unless another one requests it or an older one also reports it', () => {
  const [old, young] = [reporting('old', ['192.0.2.4']), reporting('young', ['192.0.2.4'])];
  const asking = gateway('asking', '192.0.2.5');
  const other = reporting('other', ['192.0.2.5']);
  const gone = reporting('gone', ['203.0.113.1']);
  const assigned = assignAddresses([gateway('a'), old, young, other, gone, asking], PUBLISHED);
  assert.deepEqual(assigned.get(old), { kind: 'one', address: '192.0.2.4' });
  assert.deepEqual(assigned.get(asking), { kind: 'one', address: '192.0.2.5' });
  assert.equal(new Set([...assigned.values()].map((own) => JSON.stringify(own))).size, 6);
});

test('a Gateway keeps the address that it reports if one of another namespace requests it: the two share it', () => {
  const own = reporting('own', ['192.0.2.4']);
  const requesting = gateway('requesting', '192.0.2.4');
  const foreign = { ...requesting, meta: { ...requesting.meta, namespace: 'odd' } };
  const shared = { kind: 'one', address: '192.0.2.4' };
  for (const gateways of [
    [own, foreign],
    [foreign, own],
  ]) {
    const assigned = assignAddresses(gateways, PUBLISHED);
    assert.deepEqual([assigned.get(own), assigned.get(foreign)], [shared, shared]);
  }
  assert.notDeepEqual(assignAddresses([own, requesting], PUBLISHED).get(own), shared);
});

test('a Gateway also keeps its address if one of another namespace that shared it by a request no longer requests it', () => {
  const [own, other] = [reporting('own', ['192.0.2.4']), reporting('other', ['192.0.2.4'])];
  const foreign = { ...other, meta: { ...other.meta, namespace: 'odd' } };
  for (const gateways of [
    [own, foreign],
    [foreign, own],
  ]) {
    const assigned = assignAddresses(gateways, PUBLISHED);
    assert.deepEqual(assigned.get(own), { kind: 'one', address: '192.0.2.4' });
  }
});

test('of Gateways that share an address, none loses it because another one requests that or comes later', () => {
  const sharing = ['a', 'b', 'c'].map((name, at) => reporting(name, [`192.0.2.${at === 0 ? 0 : 1}`]));
  const [first, second] = PUBLISHED;
  for (const more of ['192.0.2.0', '192.0.2.1'].flatMap((value) => [[], [gateway('later')], [gateway('asking', value)]])) {
    const others = more.map((one) => ({ ...one, meta: { ...one.meta, namespace: 'odd' } }));
    const assigned = assignAddresses([...sharing, ...others], [first ?? '', second ?? '']);
    const addresses = sharing.map((one) => assigned.get(one)).map((one) => (one?.kind === 'one' ? one.address : null));
    assert.deepEqual(addresses, ['192.0.2.0', '192.0.2.1', '192.0.2.1']);
  }
});

test('without one of the Gateways most others keep their addresses, and more Gateways than addresses share them evenly', () => {
  const gateways = Array.from({ length: 5 }, (_, nth) => gateway(`g${nth}`));
  const before = assignAddresses(gateways, PUBLISHED);
  for (const gone of gateways) {
    const after = assignAddresses(
      gateways.filter((one) => one !== gone),
      PUBLISHED,
    );
    const kept = [...after].filter(([one, own]) => JSON.stringify(before.get(one)) === JSON.stringify(own));
    assert.ok(kept.length >= 2, `${kept.length} of 4 keep theirs`);
  }
  const many = Array.from({ length: 12 }, (_, nth) => gateway(`g${nth}`));
  const counts = Map.groupBy(assignAddresses(many, PUBLISHED).values(), (own) => JSON.stringify(own));
  assert.deepEqual(
    [...counts.values()].map(({ length }) => length),
    [2, 2, 2, 2, 2, 2],
  );
});

test('in a pod addresses are divided only if they are its own, since elsewhere connections arrive at the address of the pod', () => {
  const publish = { kind: 'addresses', addresses: ['192.0.2.1', '192.0.2.2'].map((value) => ({ kind: 'ip' as const, value })) } as const;
  assert.deepEqual(addressesToDivide(publish, true, ['10.0.0.7']), []);
  assert.deepEqual(addressesToDivide(publish, true, ['192.0.2.1', '192.0.2.2', '10.0.0.7']), ['192.0.2.1', '192.0.2.2']);
  assert.deepEqual(addressesToDivide(publish, false, []), ['192.0.2.1', '192.0.2.2']);
  assert.deepEqual(addressesToDivide({ kind: 'service', namespace: 'a', name: 'b' }, false, []), []);
});
