import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import type { ContainerReading } from '../sources/source.ts';
import { ContainerBook } from './containers.ts';
import type { RouteStatus } from './route-conditions.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const fact = (holds: boolean, reason: string) => ({ holds, reason, since: SINCE });
const READING: ContainerReading = {
  id: 'a1',
  container: 'web-1',
  origin: 'container web-1 (a1)',
  site: null,
  domains: ['a.example', 'b.example'],
  others: { count: 0, names: [] },
  accepted: fact(true, 'understood'),
  resolved: fact(true, 'its address'),
  address: '172.18.0.2:80',
  change: null,
};

const route = (domain: string, holds: boolean, source = 'docker'): RouteStatus => ({
  domain,
  source,
  origin: 'x',
  accepted: fact(true, ''),
  resolved: fact(true, ''),
  programmed: { d: fact(holds, holds ? 'served' : 'conflicted') },
});

test('a site is programmed where all of its domains are', () => {
  const book = new ContainerBook(new ManualClock(), () => [READING]);
  const programmed = (...objects: RouteStatus[]) => book.list(objects)[0]?.programmed.d?.reason;
  assert.equal(programmed(route('a.example', true), route('b.example', true)), 'served');
  assert.equal(programmed(route('a.example', true), route('b.example', false)), 'conflicted');
  assert.equal(programmed(route('a.example', false, 'file')), undefined);
});

test('what a data plane found out about its address counts, until it takes it back or the container is another one', () => {
  const book = new ContainerBook(new ManualClock(), () => [READING]);
  const resolved = () => book.list([])[0]?.resolved.reason;
  book.upstream({ address: '172.18.0.2:80', id: 'a1', healthy: false, reason: 'connection refused' });
  assert.equal(resolved(), 'connection refused');
  book.upstream({ address: '172.18.0.2:80', id: 'a1', healthy: true, reason: 'it accepts connections' });
  assert.equal(resolved(), 'its address');
  book.upstream({ address: '172.18.0.2:80', id: 'a0', healthy: false, reason: 'connection refused' });
  assert.equal(resolved(), 'its address');
});

test('a site whose labels are wrong is programmed where it stays as it was before, and nowhere when it has no address', () => {
  const wrong = { ...READING, accepted: fact(false, 'a mistake; the site stays as it was before') };
  const programmed = (reading: ContainerReading) =>
    new ContainerBook(new ManualClock(), () => [reading]).list([route('a.example', true)])[0]?.programmed;
  assert.deepEqual(programmed(wrong), { d: fact(true, 'served') });
  assert.deepEqual(programmed({ ...wrong, address: null }), {});
});
