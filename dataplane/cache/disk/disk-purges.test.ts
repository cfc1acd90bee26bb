import assert from 'node:assert/strict';
import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Purge } from '../../../shared/wire/purge.ts';
import { Disk, textEntry } from './testing/disk.ts';

const IGNORING = JSON.stringify({ ignore_query: ['utm_*'] });

/** Responses, and the purges that remove the first of them and not the second. */
const PURGES: readonly (readonly [purge: Purge, removed: ReturnType<typeof textEntry>, kept: ReturnType<typeof textEntry>])[] = [
  [{ kind: 'target', host: 'a.test', target: '/a b' }, textEntry('/a%20b', 'x'), textEntry('/a%20b?c', 'x')],
  [{ kind: 'target', host: 'a.test', target: '/q?b&utm_x' }, textEntry('/q?b', 'x', { queryRule: IGNORING }), textEntry('/q?b&c', 'x')],
  [{ kind: 'prefix', host: 'a.test', prefix: '/docs/' }, textEntry('/docs/1', 'x'), textEntry('/doc', 'x')],
  [{ kind: 'tag', tag: 't' }, textEntry('/t', 'x', { tags: ['s', 't'] }), textEntry('/u', 'x', { tags: ['tt'] })],
];

for (const [purge, removed, kept] of PURGES) {
  const title = `${purge.kind} ${JSON.stringify(purge)}`;
  test(`a purge by ${title} deletes files, and they do not come back`, () => {
    using disk = new Disk();
    const process = disk.open().write(removed).write(kept).run();
    assert.deepEqual([process.purge(purge).count, process.purge(purge).count], [1, 0]);
    for (const one of [process, disk.open().run()]) assert.deepEqual([one.texts(removed.target), one.texts(kept.target)], [[], ['x']]);
  });

  test(`a purge by ${title} applies to files that have not been indexed yet, even if the process is killed then`, () => {
    using disk = new Disk();
    disk.open().write(removed).write(kept);
    const killed = disk.open();
    let saved = false;
    killed.store.handle({ kind: 'purge', id: 1, purge, counted: [], urgent: true });
    // Only its deletions: it is killed before it has looked at any file.
    killed.store.tick();
    saved = killed.last('purged').saved;
    assert.ok(saved && disk.files().length === 2);
    appendFileSync(join(disk.path, 'purges'), '{"kind":"tar');
    const next = disk.open().run();
    assert.deepEqual([next.texts(removed.target), next.texts(kept.target)], [[], ['x']]);
    assert.ok(!existsSync(join(disk.path, 'purges')), 'it is not needed any more');
    assert.equal(disk.files().length, 1);
  });
}

test('a response that is stored after a purge stays, although older ones have not been looked at yet', () => {
  using disk = new Disk();
  disk.open().write(textEntry('/a', 'older'));
  const process = disk.open();
  process.store.handle({ kind: 'purge', id: 1, purge: { kind: 'tag', tag: 'none' }, counted: [], urgent: true });
  process.store.handle({ kind: 'purge', id: 2, purge: { kind: 'target', host: 'a.test', target: '/a' }, counted: [], urgent: true });
  process.store.handle({ kind: 'write', entry: textEntry('/a', 'newer'), replaces: null });
  assert.deepEqual(process.run().texts('/a'), ['newer']);
  assert.deepEqual(disk.open().run().texts('/a'), ['newer']);
});

test('a purge counts responses that are only on disk', () => {
  using disk = new Disk();
  const [one, two] = [textEntry('/1', 'x'), textEntry('/2', 'x')];
  const process = disk.open().write(one).write(two).run();
  assert.equal(process.purge({ kind: 'prefix', host: 'a.test', prefix: '/' }, [one.id]).count, 1);
});

test('a response that is purged while it is read is not given out', () => {
  using disk = new Disk();
  const process = disk.open().write(textEntry('/a', 'x'.repeat(3_000_000)));
  process.store.handle({ kind: 'read', key: 'http a.test /a', most: 10_000_000 });
  process.store.turn();
  process.purge({ kind: 'target', host: 'a.test', target: '/a' });
  assert.deepEqual(process.run().last('read').entries, []);
});

test('the process that takes over gets the files and every purge of the one before, which writes nothing more', () => {
  using disk = new Disk();
  const old = disk.open();
  for (const target of ['/a', '/b', '/c']) old.write(textEntry(target, 'x'));
  old.store.handle({ kind: 'release' });
  assert.deepEqual([old.run().last('released').kind, old.read('/a')], ['released', []]);
  old.write(textEntry('/d', 'x'));
  old.purge({ kind: 'target', host: 'a.test', target: '/a' });
  const next = disk.open({}, { shared: true }).run();
  assert.deepEqual([next.read('/a'), next.texts('/b'), next.read('/d')], [[], ['x'], []]);
  next.write(textEntry('/e', 'x'));
  assert.deepEqual(next.outcomes(), ['dropped'], 'nothing is written while the other one may take its files back');
  next.store.handle({ kind: 'own' });
  next.write(textEntry('/e', 'x'));
  const purge = { kind: 'target', host: 'a.test', target: '/b' } as const;
  old.purge(purge);
  next.state;
  assert.deepEqual([next.last('noted').purge, next.read('/b'), next.texts('/e')], [purge, [], ['x']]);
  assert.deepEqual([disk.open().run().read('/b'), disk.open().run().texts('/c')], [[], ['x']]);
});

test('a process whose successor fails takes its files back', () => {
  using disk = new Disk();
  const old = disk.open().write(textEntry('/a', 'x')).write(textEntry('/b', 'x'));
  old.store.handle({ kind: 'release' });
  disk.open({}, { shared: true }).run();
  old.purge({ kind: 'target', host: 'a.test', target: '/a' });
  old.store.handle({ kind: 'reclaim' });
  assert.deepEqual([old.run().read('/a'), old.texts('/b')], [[], ['x']]);
  old.write(textEntry('/c', 'x'));
  assert.deepEqual(old.texts('/c'), ['x']);
});
