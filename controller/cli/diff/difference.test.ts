import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redacted } from '../../../shared/redacted.ts';
import type { RouteInput, RouteSpec } from '../../../shared/route.ts';
import type { FullRoute } from '../../../shared/wire/status.ts';
import { sampleRoute } from '../../desired/testing/sample-listing.ts';
import { type RouteChange, routeChanges } from './difference.ts';

const SINCE = '2026-01-01T00:00:00.000Z';
const running = (route: RouteSpec, more: Partial<FullRoute> = {}): FullRoute => ({
  ...route,
  controller: 'controller',
  overrides: null,
  since: SINCE,
  conditions: { programmed: { holds: true, reason: 'served', since: SINCE } },
  ...more,
});
const byHand = (domain: string, overrides: RouteSpec | null): FullRoute =>
  running(sampleRoute(domain, '10.9.9.9:9', { source: null }), { controller: null, overrides });
const changesOf = (now: FullRoute[], wanted: RouteSpec[]): RouteChange[] =>
  routeChanges(now, wanted, { controller: 'controller', source: 'file' });
const gist = (changes: RouteChange[]) => changes.map(({ domain, change, hidden_by_hand }) => [domain, change, hidden_by_hand]);

test('a file equal to the running routes changes nothing, wherever its lines are', () => {
  const route = sampleRoute('a.example');
  assert.deepEqual(changesOf([running({ ...route, origin: 'Sluicefile:99' })], [route]), []);
});

test('new routes are added and missing ones removed, both sorted by domain', () => {
  const changes = changesOf([running(sampleRoute('b.example'))], [sampleRoute('c.example'), sampleRoute('a.example')]);
  assert.deepEqual(gist(changes), [
    ['a.example', 'added', false],
    ['b.example', 'removed', false],
    ['c.example', 'added', false],
  ]);
});

test('routes of other sources, of other controllers and manually posted ones are not removed', () => {
  const docker = running(sampleRoute('d.example', '10.0.0.1:1', { source: 'docker' }));
  const other = running(sampleRoute('o.example'), { controller: 'other' });
  assert.deepEqual(changesOf([docker, other, byHand('h.example', null)], []), []);
});

test('a change lists each member before and after, and a pool only once', () => {
  const before = running(sampleRoute('a.example', '10.0.0.1:80', { rate_limit_rps: 5 }));
  const [change] = changesOf([before], [sampleRoute('a.example', '10.0.0.2:80', { rate_limit_rps: 6 })]);
  assert.equal(change?.change, 'changed');
  assert.deepEqual(change?.members.map(({ name }) => name).sort(), ['rate_limit_rps', 'upstreams']);
  assert.deepEqual(
    change?.members.find(({ name }) => name === 'rate_limit_rps'),
    { name: 'rate_limit_rps', before: 5, after: 6 },
  );
});

test('a change inside a block names the block', () => {
  const withLimit = (limit: number): Partial<RouteInput> => ({ handles: [{ path: '/api/*', rate_limit_rps: limit }] });
  const [change] = changesOf(
    [running(sampleRoute('a.example', undefined, withLimit(1)))],
    [sampleRoute('a.example', undefined, withLimit(2))],
  );
  assert.deepEqual(change?.members, [{ name: 'handle /api/* rate_limit_rps', before: 1, after: 2 }]);
});

test('a changed password is shown without its hash', () => {
  const guarded = (char: string): Partial<RouteInput> => ({
    basic_auth: { realm: 'r', users: [{ name: 'ann', hash: `$2b$12$${char.repeat(53)}` }] },
  });
  const before = redacted(sampleRoute('a.example', undefined, guarded('a')));
  assert.deepEqual(changesOf([running(before)], [sampleRoute('a.example', undefined, guarded('a'))]), []);
  const [change] = changesOf([running(before)], [sampleRoute('a.example', undefined, guarded('b'))]);
  assert.deepEqual(
    change?.members.map(({ name }) => name),
    ['basic_auth'],
  );
  assert.doesNotMatch(JSON.stringify(change), /\$2b\$/);
});

test('blocks on other paths are shown in full', () => {
  const withBlock = (path: string): Partial<RouteInput> => ({ handles: [{ path, rate_limit_rps: 1 }] });
  const [change] = changesOf(
    [running(sampleRoute('a.example', undefined, withBlock('/a')))],
    [sampleRoute('a.example', undefined, withBlock('/b'))],
  );
  assert.deepEqual(
    change?.members.map(({ name }) => name),
    ['handles'],
  );
});

test('a manually posted route overrides the file’s, whether or not the file’s would change', () => {
  const route = sampleRoute('a.example', '10.0.0.1:80');
  const same = changesOf([byHand('a.example', route)], [route]);
  assert.deepEqual(gist(same), [['a.example', 'same', true]]);
  assert.ok(
    same[0]?.members.some(({ name }) => name === 'upstreams'),
    'the served route is shown',
  );
  assert.deepEqual(gist(changesOf([byHand('a.example', sampleRoute('a.example', '10.0.0.2:80'))], [route])), [
    ['a.example', 'changed', true],
  ]);
  assert.deepEqual(gist(changesOf([byHand('a.example', null)], [route])), [['a.example', 'added', true]]);
  assert.deepEqual(gist(changesOf([byHand('a.example', route)], [])), [['a.example', 'removed', true]]);
});

test('a domain of another controller is a conflict with the owner’s name', () => {
  const [change] = changesOf([running(sampleRoute('a.example'), { controller: 'other' })], [sampleRoute('a.example')]);
  assert.deepEqual([change?.change, change?.owner], ['conflicted', 'other']);
});
