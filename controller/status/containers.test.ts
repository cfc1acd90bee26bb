import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Reading } from '../sources/source.ts';
import { clusterObjectsOf, containersOf } from './containers.ts';
import type { RouteStatus } from './route-conditions.ts';

const condition = (holds: boolean, reason: string) => ({ holds, reason, since: '2026-01-01T00:00:00.000Z' });
const READING: Reading = {
  source: 'docker',
  kind: 'container',
  id: 'a1',
  name: 'web-1',
  origin: 'container web-1 (a1)',
  section: 'api',
  domains: ['a.example', 'b.example'],
  peers: { count: 1, names: ['web-2'] },
  accepted: condition(true, 'understood'),
  resolved: condition(true, 'its address'),
  address: '172.18.0.2:80',
  change: null,
};

const route = (domain: string, holds: boolean, source = 'docker'): RouteStatus => ({
  domain,
  source,
  origin: 'x',
  accepted: condition(true, ''),
  resolved: condition(true, ''),
  programmed: { d: condition(holds, holds ? 'served' : 'conflicted') },
});

test('shows containers in the documented form, and no other objects', () => {
  const { source, kind, name, section, peers, ...rest } = READING;
  const expected = { ...rest, container: 'web-1', site: 'api', others: peers, programmed: {} };
  assert.deepEqual(containersOf([READING, { ...READING, kind: 'file' }], []), [expected]);
});

test('a site is programmed on a data plane if all of its domains are', () => {
  const programmed = (...routes: RouteStatus[]) => containersOf([READING], routes)[0]?.programmed.d?.reason;
  assert.equal(programmed(route('a.example', true), route('b.example', true)), 'served');
  assert.equal(programmed(route('a.example', true), route('b.example', false)), 'conflicted');
  assert.equal(programmed(route('a.example', false, 'file')), undefined);
});

test('a site with invalid labels is programmed where its previous version is served, and nowhere without an address', () => {
  const wrong = { ...READING, accepted: condition(false, 'an error; the site keeps its last good version') };
  const programmed = (reading: Reading) => containersOf([reading], [route('a.example', true)])[0]?.programmed;
  assert.deepEqual(programmed(wrong), { d: condition(true, 'served') });
  assert.deepEqual(programmed({ ...wrong, address: null }), {});
});

test('shows objects of a cluster in the documented form, and no containers', () => {
  const { source, section, peers, ...rest } = {
    ...READING,
    source: 'kubernetes',
    kind: 'ingress',
    name: 'shop/web',
    origin: 'ingress shop/web',
  };
  const served = [route('a.example', true, 'kubernetes'), route('b.example', false, 'kubernetes')];
  const objects = clusterObjectsOf([READING, { ...rest, source, section: null, peers }], served);
  assert.deepEqual(objects, [{ ...rest, others: peers, programmed: { d: condition(false, 'conflicted') } }]);
  const invalid = { ...rest, source, section: null, peers, accepted: condition(false, 'no'), resolved: condition(false, 'no') };
  assert.deepEqual(clusterObjectsOf([invalid], served)[0]?.programmed, {});
});
