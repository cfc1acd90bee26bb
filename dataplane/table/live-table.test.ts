import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../../shared/runtime/clock.ts';
import type { TableChange } from './table.ts';
import { frameOf, routeOf, TemporaryTable } from './testing/temporary-table.ts';

const ofFile = (domain: string, upstream = 'up:1', more = {}) => routeOf(domain, upstream, { source: 'file', ...more });

async function applied(fixture: TemporaryTable, ...frame: Parameters<typeof frameOf>) {
  const outcome = await fixture.table.apply(frameOf(...frame));
  assert.ok('applied' in outcome, JSON.stringify(outcome));
  return outcome.applied;
}

async function refusedBy(fixture: TemporaryTable, ...frame: Parameters<typeof frameOf>) {
  const outcome = await fixture.table.apply(frameOf(...frame));
  assert.ok('refused' in outcome, JSON.stringify(outcome));
  return outcome.refused;
}

test('the latest post of a domain replaces earlier ones', async () => {
  using fixture = await TemporaryTable.start();
  await fixture.table.post(routeOf('a.test', 'one:1', { source: 'x' }));
  await fixture.table.post(routeOf('a.test', 'two:2'));
  assert.deepEqual(fixture.visible(), ['a.test two:2 hand']);
  assert.equal(await fixture.table.remove('a.test'), true);
  assert.equal(await fixture.table.remove('a.test'), false);
});

test('a full frame adds, changes and removes routes, and leaves unchanged ones alone', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, {}, [ofFile('a.test'), ofFile('b.test'), ofFile('c.test')]);
  const before = fixture.publisher.generation;
  const second = await applied(fixture, { revision: 2 }, [ofFile('a.test'), ofFile('b.test', 'other:1'), ofFile('d.test')]);
  assert.deepEqual(
    second.results.map(({ domain, result }) => `${domain} ${result}`),
    ['a.test unchanged', 'b.test changed', 'd.test added'],
  );
  assert.deepEqual(second.removed, ['c.test']);
  assert.equal(second.generation, before + 1, 'one swap for all of it');
  assert.deepEqual([...fixture.publisher.served.keys()].sort(), ['a.test', 'b.test', 'd.test']);
  const again = await applied(fixture, { revision: 3 }, [ofFile('a.test'), ofFile('b.test', 'other:1'), ofFile('d.test')]);
  assert.equal(again.generation, before + 1, 'nothing changed, nothing published');
});

test('a route that moved within its file gets a new origin without being republished', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, {}, [ofFile('a.test', 'up:1', { origin: 'Sluicefile:1' })]);
  const { generation } = fixture.publisher;
  const { results } = await applied(fixture, { revision: 2 }, [ofFile('a.test', 'up:1', { origin: 'Sluicefile:9' })]);
  assert.equal(results[0]?.result, 'unchanged');
  assert.equal(fixture.publisher.generation, generation);
  await fixture.restart();
  assert.equal(fixture.table.find('a.test')?.route.origin, 'Sluicefile:9');
});

test('sources that a frame does not name keep their routes', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, { sources: ['file', 'docker'] }, [ofFile('a.test'), routeOf('b.test', 'up:1', { source: 'docker' })]);
  const { removed } = await applied(fixture, { revision: 2, sources: ['docker'] }, []);
  assert.deepEqual(removed, ['b.test']);
  assert.deepEqual(fixture.visible(), ['a.test up:1 c']);
});

test('a delta is applied only to the revision it is based on', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, {}, [ofFile('a.test'), ofFile('b.test')]);
  const next = await applied(fixture, { revision: 2, based_on: 1 }, [ofFile('c.test')], {
    removes: [{ domain: 'a.test', source: 'file' }],
  });
  assert.deepEqual(next.removed, ['a.test']);
  assert.deepEqual(fixture.visible(), ['b.test up:1 c', 'c.test up:1 c']);
  assert.equal((await refusedBy(fixture, { revision: 3, based_on: 1 }, [])).current, 2);
  assert.equal((await refusedBy(fixture, { controller: 'new', revision: 3, based_on: 2 }, [])).current, null);
});

test('an older epoch of a controller, and an older revision of the same epoch, are stale', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, { epoch: 5, revision: 7 }, [ofFile('a.test')]);
  assert.equal((await refusedBy(fixture, { epoch: 4, revision: 9 }, [])).current, 7);
  assert.equal((await refusedBy(fixture, { epoch: 5, revision: 6 }, [])).current, 7);
  await fixture.restart();
  assert.equal((await refusedBy(fixture, { epoch: 4, revision: 9 }, [])).current, 7, 'the same after a restart');
  await applied(fixture, { epoch: 6, revision: 1 }, []);
});

test('an epoch in the future does not make others stale: the clock was set back since', async () => {
  using fixture = await TemporaryTable.start();
  const now = systemClock.now();
  await applied(fixture, { epoch: now + 7_200_000, revision: 7 }, [ofFile('a.test')]);
  await fixture.restart();
  assert.equal((await refusedBy(fixture, { epoch: now, revision: 8, based_on: 5 }, [])).current, 7, 'it needs a full frame');
  await applied(fixture, { epoch: now, revision: 1 }, [ofFile('b.test')]);
  assert.deepEqual(fixture.visible(), ['b.test up:1 c']);
  assert.equal((await refusedBy(fixture, { epoch: now - 1, revision: 9 }, [])).current, 1);
  await applied(fixture, { epoch: now + 30_000, revision: 1 }, []);
  assert.equal((await refusedBy(fixture, { epoch: now, revision: 2 }, [])).current, 1, 'clocks of machines differ a little');
});

test('a repeated revision is accepted and changes nothing', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, { revision: 'r' }, [ofFile('a.test')]);
  const again = await applied(fixture, { revision: 'r' }, [ofFile('a.test')]);
  assert.deepEqual(again.results, [{ domain: 'a.test', result: 'unchanged' }]);
  assert.deepEqual(again.removed, []);
});

test('a domain that moves between sources of its controller is served without a gap', async () => {
  using fixture = await TemporaryTable.start();
  const changes: TableChange[] = [];
  await applied(fixture, { sources: ['file', 'docker'] }, [ofFile('a.test')]);
  fixture.table.onChange((change) => changes.push(change));
  const { removed } = await applied(fixture, { revision: 2, sources: ['file', 'docker'] }, [
    routeOf('a.test', 'up:2', { source: 'docker' }),
  ]);
  assert.deepEqual(removed, []);
  assert.deepEqual(
    changes.map(({ added, changed, removed: gone }) => ({ added, changed, gone })),
    [{ added: [], changed: ['a.test'], gone: [] }],
  );
});

test('two controllers never take domains from each other', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, { controller: 'first' }, [ofFile('a.test', 'one:1')]);
  const { results } = await applied(fixture, { controller: 'second' }, [ofFile('a.test', 'two:2'), ofFile('b.test')]);
  assert.deepEqual(results, [
    { domain: 'a.test', result: 'conflicted', reason: 'it belongs to controller "first"' },
    { domain: 'b.test', result: 'added' },
  ]);
  await applied(fixture, { controller: 'second', revision: 2 }, []);
  assert.deepEqual(fixture.visible(), ['a.test one:1 first']);
});

test('a manually posted route overrides the controller’s, which is kept up to date underneath', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, {}, [ofFile('a.test', 'file:1')]);
  await fixture.table.post(routeOf('a.test', 'hand:1'));
  assert.deepEqual(fixture.visible(), ['a.test hand:1 hand']);
  assert.deepEqual(fixture.table.counts(), { routes: 1, overridden: 1 });
  assert.deepEqual(
    [...fixture.table.overrides()].map((one) => one && [one.domain, one.controller]),
    [['a.test', 'c']],
  );
  const { results } = await applied(fixture, { revision: 2 }, [ofFile('a.test', 'file:2')]);
  assert.match(results[0]?.reason ?? '', /manually/);
  assert.deepEqual(fixture.visible(), ['a.test hand:1 hand']);
  assert.equal(fixture.table.find('a.test')?.overrides?.upstream, 'file:2');
  await fixture.restart();
  assert.equal(fixture.table.find('a.test')?.overrides?.upstream, 'file:2');
  await fixture.table.remove('a.test');
  assert.deepEqual(fixture.visible(), ['a.test file:2 c']);
  assert.match(fixture.publisher.served.get('a.test') ?? '', /file:2/);
  assert.deepEqual(fixture.table.counts(), { routes: 1, overridden: 0 });
});

test('a controller is notified that its route was removed or replaced manually, and can restore it with a full frame', async () => {
  using fixture = await TemporaryTable.start();
  const heard: TableChange['overwritten'][] = [];
  await applied(fixture, { revision: 5 }, [ofFile('a.test', 'file:1')]);
  fixture.table.onChange(({ overwritten }) => heard.push(overwritten));
  await fixture.table.remove('a.test');
  assert.deepEqual(
    heard.pop()?.map(({ domain, controller, change }) => [domain, controller, change]),
    [['a.test', 'c', 'removed']],
  );
  assert.equal((await refusedBy(fixture, { revision: 6, based_on: 5 }, [])).current, 5, 'a delta would not restore it');
  await applied(fixture, { revision: 5 }, [ofFile('a.test', 'file:1')]);
  assert.deepEqual(fixture.visible(), ['a.test file:1 c']);
  await fixture.table.post(routeOf('a.test', 'hand:1', { source: 'file' }));
  assert.deepEqual(
    heard.at(-1)?.map(({ domain, controller, change }) => [domain, controller, change]),
    [['a.test', 'c', 'replaced']],
  );
  assert.deepEqual(fixture.visible(), ['a.test hand:1 c']);
  await applied(fixture, { revision: 6 }, [ofFile('a.test', 'file:1')]);
  assert.deepEqual(fixture.visible(), ['a.test file:1 c']);
});

test('routes of the wrong source, duplicate routes and invalid routes are rejected and keep their last good version', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, {}, [ofFile('bad.test', 'good:1')]);
  const { results, removed } = await applied(
    fixture,
    { revision: 2 },
    [routeOf('a.test'), routeOf('b.test', 'up:1', { source: 'docker' }), ofFile('c.test', 'first:1'), ofFile('c.test', 'second:1')],
    {
      rejected: [{ domain: 'bad.test', source: 'file', reason: 'upstream: no' }],
    },
  );
  assert.deepEqual(
    results.map(({ domain, result }) => `${domain} ${result}`),
    ['a.test rejected', 'b.test rejected', 'c.test added', 'c.test rejected', 'bad.test rejected'],
  );
  assert.deepEqual(removed, []);
  assert.deepEqual(fixture.visible(), ['bad.test good:1 c', 'c.test first:1 c']);
});

test('problems of a frame replace those of its sources, and globals are those of the last frame that had any', async () => {
  using fixture = await TemporaryTable.start();
  const problem = (source: string, message: string) => ({ source, origin: 'x', domain: null, code: 'x', message, since: 'now' });
  await applied(fixture, { sources: ['file', 'docker'] }, [], {
    problems: [problem('file', 'one'), problem('docker', 'two')],
    settings: { http_port: 81 },
  });
  await applied(fixture, { revision: 2, sources: ['file'] }, [], { problems: [problem('file', 'three')] });
  assert.deepEqual(
    fixture.table.problems().map(({ message }) => message),
    ['two', 'three'],
  );
  assert.deepEqual(fixture.table.globals(), { http_port: 81 });
  await fixture.restart();
  assert.deepEqual(fixture.table.globals(), { http_port: 81 });
});

test('concurrent writes are made one after another', async () => {
  using fixture = await TemporaryTable.start();
  await Promise.all(Array.from({ length: 50 }, (_, at) => fixture.table.post(routeOf(`${at % 10}.test`, `up:${at + 1}`))));
  await fixture.restart();
  assert.deepEqual(
    fixture.visible(),
    Array.from({ length: 10 }, (_, at) => `${at}.test up:${at + 41} hand`),
  );
});

test('a controller that is forgotten leaves nothing behind, also on disk, and nothing of others is touched', async () => {
  using fixture = await TemporaryTable.start();
  const problem = { source: 'file', code: 'x', origin: 'Sluicefile:1', domain: null, message: 'm', since: '2026-01-01T00:00:00.000Z' };
  await applied(fixture, { revision: 7 }, [ofFile('a.test'), ofFile('b.test')], { problems: [problem] });
  await applied(fixture, { controller: 'other' }, [ofFile('c.test')]);
  await fixture.table.post(routeOf('a.test', 'posted:1'));
  assert.equal(await fixture.table.forget('c'), 2);
  assert.deepEqual(fixture.visible(), ['a.test posted:1 hand', 'c.test up:1 other']);
  assert.deepEqual([...fixture.publisher.served.keys()].sort(), ['a.test', 'c.test']);
  assert.deepEqual([fixture.table.problems(), [...fixture.table.overrides()].filter(Boolean)], [[], []]);
  assert.equal(await fixture.table.forget('c'), null);
  await fixture.restart();
  assert.deepEqual(
    fixture.table.controllers().map(({ id }) => id),
    ['other'],
  );
  assert.deepEqual(fixture.visible(), ['a.test posted:1 hand', 'c.test up:1 other']);
});

test('a controller that was forgotten and returns, in the same run, sends everything again', async () => {
  using fixture = await TemporaryTable.start();
  await applied(fixture, { revision: 7 }, [ofFile('a.test')]);
  await fixture.table.forget('c');
  await refusedBy(fixture, { revision: 8, based_on: 7 }, [ofFile('b.test')]);
  await applied(fixture, { revision: 8 }, [ofFile('a.test'), ofFile('b.test')]);
  assert.deepEqual(fixture.visible(), ['a.test up:1 c', 'b.test up:1 c']);
});
