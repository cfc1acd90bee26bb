import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { readSummary } from '../engine/container-summary.ts';
import { EngineFailure } from '../engine/engine-failure.ts';
import { type FakeContainer, fakeId, inspectionOf, listingOf } from '../testing/fake-container.ts';
import { ContainerStore } from './container-store.ts';

const ID = fakeId(1);
const listed = (container: Partial<FakeContainer>) =>
  [readSummary(listingOf({ id: ID, labels: { 'sluice.domain': 'a.example' }, ...container }))].filter((one) => one !== undefined);

const broken = { inspect: () => Promise.reject(new EngineFailure('broken', { isOfRequest: true })) };
const addressOf = (store: ContainerStore) => store.get(ID)?.networks[0]?.ipv4;

test('a list says nothing of a container that an event has concerned since it was requested: another one is needed if it can’t be inspected', async () => {
  const store = new ContainerStore(new ManualClock());
  store.listRequested();
  store.noteEvent(ID);
  store.applyList(listed({ address: '172.18.0.2' }));
  assert.equal(store.get(ID), undefined);
  assert.ok(await store.inspectDirty(broken, () => undefined));
  assert.ok(store.needsList());
  store.listRequested();
  store.applyList(listed({ address: '172.18.0.3' }));
  assert.equal(addressOf(store), '172.18.0.3');
  assert.ok(!store.needsList());
});

test('what an event has said of a container holds until a list is requested after it', () => {
  const store = new ContainerStore(new ManualClock());
  store.listRequested();
  store.applyList(listed({}));
  store.listRequested();
  store.noteEvent(ID);
  assert.ok(store.markDisconnected(ID, 'shop-id'));
  store.applyList(listed({ note: 'healthy' }));
  assert.equal(addressOf(store), undefined);
  store.listRequested();
  store.applyList(listed({}));
  assert.equal(addressOf(store), '172.18.0.2');
  store.noteEvent(ID);
  assert.ok(store.markExited(ID));
  store.applyList(listed({}));
  assert.equal(store.get(ID)?.status, 'exited');
  store.listRequested();
  store.applyList(listed({}));
  assert.equal(store.get(ID)?.status, 'running');
});

test('after the engine was away, no address of before is used if an event has concerned its container since the list was requested', () => {
  const store = new ContainerStore(new ManualClock());
  store.applyList(listed({}));
  store.listRequested();
  store.applyList(listed({ address: '172.18.0.3' }), true);
  assert.deepEqual([addressOf(store), store.hasWholeList], ['172.18.0.3', true]);
  store.listRequested();
  store.noteEvent(ID);
  store.applyList(listed({}), true);
  assert.deepEqual([addressOf(store), store.hasWholeList, store.hasDirty()], [undefined, false, true]);
});

test('a container of which the list has only the first port of a published range, as that of Podman, is not inspected after each', async () => {
  const container = { id: ID, labels: { 'sluice.domain': 'a.example' } };
  const listing = { ...listingOf(container), Ports: [{ PrivatePort: 80, PublicPort: 8_080, Type: 'tcp' }] };
  const list = [readSummary(listing)].filter((one) => one !== undefined);
  const { NetworkSettings, ...inspection } = inspectionOf(container);
  const Ports = { '80/tcp': [{ HostIp: '', HostPort: '8080' }], '81/tcp': [{ HostIp: '', HostPort: '8081' }] };
  const store = new ContainerStore(new ManualClock());
  store.applyList(list);
  const whole = { inspect: () => Promise.resolve({ ...inspection, NetworkSettings: { ...NetworkSettings, Ports } }) };
  await store.inspectDirty(whole, () => undefined);
  store.applyList(list);
  assert.ok(!store.hasDirty());
  assert.equal(store.get(ID)?.publishedPorts.length, 2);
});
