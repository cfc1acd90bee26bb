import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Purge } from '../../wire/purge.ts';
import { PurgeLog } from './purge-log.ts';

const page = (target: string, host = 'a.test', tags: readonly string[] = []) => ({ host, target, tags });

function logOf(...purges: readonly Purge[]): PurgeLog {
  const log = new PurgeLog();
  for (const [at, purge] of purges.entries()) log.add(at + 1, purge);
  return log;
}

test('a purge of a URL is about its path in any spelling and with any query, and about what was requested before it', () => {
  const log = logOf({ kind: 'tag', tag: 'none' }, { kind: 'target', host: 'a.test', target: '/a%20b?x=1' });
  for (const [one, since, purged] of [
    [page('/a%20b?x=1'), 0, true],
    [page('/%61%20b'), 1, true],
    [page('/a%20b?x=1'), 2, false],
    [page('/a%20b?x=1', 'b.test'), 1, false],
    [page('/other'), 1, false],
  ] as const) {
    assert.equal(log.removes(one, since), purged, JSON.stringify([one, since]));
    assert.equal(log.mayRemove(one, since), purged || since < 1, JSON.stringify([one, since]));
  }
});

test('a purge by prefix or tag may be about every response of which only the URL is known', () => {
  const log = logOf({ kind: 'prefix', host: 'a.test', prefix: '/docs/' }, { kind: 'tag', tag: 't' });
  for (const [one, since, purged] of [
    [page('/docs/%78'), 0, true],
    [page('/docs/x'), 1, false],
    [page('/docs/x', 'b.test'), 0, false],
    [page('/z', 'b.test', ['s', 't']), 1, true],
    [page('/z', 'b.test', ['t']), 2, false],
  ] as const) {
    assert.equal(log.removes(one, since), purged, JSON.stringify([one, since]));
    assert.equal(log.mayRemove(one, since), since < 2);
  }
});

test('after many purges by tag, what was requested before the forgotten ones counts as purged', () => {
  const log = logOf(...Array.from({ length: 1_500 }, (): Purge => ({ kind: 'tag', tag: 'none' })));
  assert.ok(log.removes(page('/'), 499));
  assert.ok(!log.removes(page('/'), 500));
});

test('purges of many URLs are seldom about another one', () => {
  const log = new PurgeLog();
  const purged = 1_000;
  for (let at = 1; at <= purged; at++) log.add(at, { kind: 'target', host: 'a.test', target: `/purged/${at}` });
  const wrong = Array.from({ length: 1_000 }, (_, at) => page(`/other/${at}`)).filter((one) => log.removes(one, 0));
  // About 15 of 1,000 are expected to share a slot.
  assert.ok(wrong.length < 100, `${wrong.length}`);
  for (let at = 1; at <= purged; at++) assert.ok(log.removes(page(`/purged/${at}`), at - 1));
});

test('a log that begins later knows nothing of earlier purges, and all of later ones', () => {
  const log = new PurgeLog();
  log.skipTo(5);
  assert.equal(log.newest, 5);
  log.skipTo(3);
  assert.equal(log.newest, 5);
  log.add(6, { kind: 'target', host: 'a.test', target: '/' });
  assert.deepEqual([log.removes(page('/'), 5), log.removes(page('/'), 6), log.removes(page('/x'), 5)], [true, false, false]);
});
