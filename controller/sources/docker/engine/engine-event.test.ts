import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeId } from '../testing/fake-container.ts';
import { readEvent } from './engine-event.ts';

const ID = fakeId(1);
const read = (event: object) =>
  readEvent(JSON.stringify({ scope: 'local', time: 1_700_000_000, timeNano: 1_700_000_000_500_000_000, ...event }));
const joined = { at: 1_700_000_000_500, id: ID, signal: undefined, labels: undefined };

test('a container that joins or leaves a network is named by an attribute of Docker’s event', () => {
  const Actor = { ID: 'net1', Attributes: { container: ID, name: 'shop', type: 'bridge' } };
  assert.deepEqual(read({ Type: 'network', Action: 'disconnect', Actor }), { ...joined, action: 'disconnect', network: 'net1' });
  assert.equal(read({ Type: 'network', Action: 'create', Actor: { ID: 'net1', Attributes: { name: 'shop' } } }), undefined);
});

test('it is the actor of Podman’s event, which names the network in newer versions only', () => {
  const Attributes = { containerExitCode: '0', image: '', name: 'app-1', podId: '' };
  const event = { Type: 'network', Action: 'connect', status: 'connect', id: ID };
  assert.deepEqual(read({ ...event, Actor: { ID, Attributes } }), { ...joined, action: 'connect', network: '' });
  assert.deepEqual(read({ ...event, Actor: { ID, Attributes: { ...Attributes, network: 'shop' } } }), {
    ...joined,
    action: 'connect',
    network: 'shop',
  });
});

test('Podman’s names of events are read as Docker’s, and its health checks as reported early', () => {
  const event = (Action: string, more = {}) =>
    read({ Type: 'container', Action, status: Action, id: ID, Actor: { ID, Attributes: {} }, ...more });
  assert.deepEqual([event('died')?.action, event('remove')?.action, event('cleanup')], ['die', 'destroy', undefined]);
  assert.equal(event('health_status', { HealthStatus: 'starting' })?.isEarly, true);
  assert.equal(event('health_status: healthy')?.isEarly, undefined);
});
