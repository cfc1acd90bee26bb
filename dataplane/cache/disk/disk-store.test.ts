import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { digestOf } from './entry-shape.ts';
import { Disk, textEntry, textOf } from './testing/disk.ts';

test('a response is read as it was written, by the same process and by the next one', () => {
  using disk = new Disk();
  const first = disk.open();
  const [page, empty] = [textEntry('/a?b=c', 'x'.repeat(700_000), { tags: ['t'], etag: '"1"' }), textEntry('/empty', '')];
  first.write(page).write(empty);
  assert.deepEqual(first.outcomes(), ['written', 'written']);
  for (const process of [first, disk.open().run()]) {
    const [read] = process.read('/a?b=c');
    assert.ok(read !== undefined && read.id < 0);
    assert.deepEqual({ ...read, id: 0, bodyId: 0, body: 0 }, { ...page, id: 0, bodyId: 0, body: 0 });
    assert.equal(textOf(read), textOf(page));
    assert.deepEqual(process.texts('/empty'), ['']);
    assert.deepEqual(process.read('/other'), []);
    assert.deepEqual(
      ['/a?b=c', '/other'].map((target) => process.filter.has(digestOf(`http a.test ${target}`))),
      [true, false],
    );
    assert.equal(process.state.entries, 2);
  }
  assert.equal(statSync(join(disk.path, 'v1')).mode & 0o777, 0o700);
  for (const file of disk.files()) assert.equal(statSync(file).mode & 0o777, 0o600);
});

test('a file that is cut off at any byte, or has any byte changed, is deleted and never served', () => {
  using disk = new Disk();
  disk.open().write(textEntry('/a', 'The body of the page.'));
  const [file = ''] = disk.files();
  const whole = readFileSync(file);
  const damaged = (bytes: Buffer, what: string): void => {
    writeFileSync(file, bytes);
    const process = disk.open().run();
    assert.deepEqual(process.read('/a'), [], what);
    process.run();
    assert.deepEqual(disk.files(), [], what);
    assert.equal(process.state.damaged, 1, what);
  };
  for (let length = 0; length < whole.length; length++) damaged(whole.subarray(0, length), `cut off at ${length}`);
  for (let at = 0; at < whole.length; at++) {
    const changed = Buffer.from(whole);
    changed[at] = (changed[at] as number) ^ 0x20;
    damaged(changed, `changed at ${at}`);
  }
  damaged(Buffer.concat([whole, Buffer.from('x')]), 'too long');
  writeFileSync(file, whole);
  assert.deepEqual(disk.open().run().texts('/a'), ['The body of the page.']);
});

test('a file under the name of another response is not served', () => {
  using disk = new Disk();
  const process = disk.open().write(textEntry('/a', 'one'));
  const [file = ''] = disk.files();
  const one = readFileSync(file);
  process.purge({ kind: 'target', host: 'a.test', target: '/a' });
  process.write(textEntry('/b', 'two'));
  const [other = ''] = disk.files();
  writeFileSync(other, one);
  const next = disk.open().run();
  assert.deepEqual([next.read('/a'), next.read('/b')], [[], []]);
});

for (const [what, create] of [
  ['a directory', (path: string) => mkdirSync(join(path, 'inside'), { recursive: true })],
  ['a named pipe', (path: string) => execFileSync('mkfifo', [path])],
] as const)
  test(`${what} in the place of a file is removed, and the disk is used further`, () => {
    using disk = new Disk();
    const process = disk.open().write(textEntry('/a', 'one'));
    const [file = ''] = disk.files();
    const other = disk.open().run();
    for (const one of [process, other, disk.open()]) {
      rmSync(file, { force: true });
      create(file);
      one.run();
      assert.deepEqual(one.read('/a'), []);
      assert.equal(one.run().state.failure, null);
      assert.equal(lstatSync(file, { throwIfNoEntry: false }), undefined);
    }
    create(file);
    assert.deepEqual(other.write(textEntry('/a', 'two')).texts('/a'), ['two']);
    assert.equal(other.write(textEntry('/b', 'x')).purge({ kind: 'target', host: 'a.test', target: '/b' }).saved, true);
    disk.open().run();
    assert.deepEqual(readdirSync(disk.path), ['v1']);
  });

test('a body that changes after its head was looked at is not served', () => {
  using disk = new Disk();
  const process = disk.open().write(textEntry('/a', 'x'.repeat(10_000)));
  const [file = ''] = disk.files();
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] = 0;
  writeFileSync(file, bytes);
  assert.deepEqual(process.read('/a'), []);
  assert.deepEqual([process.state.entries, process.state.damaged, disk.files()], [0, 1, []]);
});

test('a write that is cut off leaves nothing that is found, and its rest is deleted at the next start', () => {
  using disk = new Disk();
  const process = disk.open();
  process.run();
  process.store.handle({ kind: 'write', entry: textEntry('/a', 'x'.repeat(1_000_000)), replaces: null });
  process.store.turn();
  const writing = disk.files();
  assert.equal(writing.length, 1);
  // As if another process had written it.
  const leftover = join(disk.path, 'v1/writing/1-1');
  writeFileSync(leftover, readFileSync(writing[0] as string));
  truncateSync(writing[0] as string, 0);
  const next = disk.open();
  assert.deepEqual(next.run().read('/a'), []);
  assert.ok(!disk.files().includes(leftover));
});

test('a newer response takes the place of an older one, also one that is not written', () => {
  using disk = new Disk();
  const process = disk.open();
  const [one, two, french] = [
    textEntry('/a', '1'),
    textEntry('/a', '2'),
    textEntry('/a', 'F', { vary: ['accept-language'], variant: '=fr' }),
  ];
  process.write(one).write(two).write(french);
  assert.deepEqual(process.texts('/a'), ['F', '2']);
  process.write(textEntry('/a', '3'), process.read('/a').find((read) => textOf(read) === 'F')?.id ?? null);
  assert.deepEqual(process.texts('/a'), ['3']);
  const { key, vary, variant } = one;
  process.store.handle({ kind: 'forget', identity: { key, vary, variant }, replaces: null });
  assert.deepEqual([process.run().texts('/a'), disk.files()], [[], []]);
});

test('a response that is not written yet is found, and a purge removes it', () => {
  using disk = new Disk();
  const process = disk.open().run();
  const one = textEntry('/a', 'x'.repeat(1_000_000));
  process.store.handle({ kind: 'write', entry: one, replaces: null });
  process.store.turn();
  process.store.handle({ kind: 'read', key: one.key, most: 10 });
  assert.deepEqual(
    process.last('read').entries.map(({ id }) => id),
    [one.id],
  );
  const { count, saved } = process.purge({ kind: 'prefix', host: 'a.test', prefix: '/' });
  assert.deepEqual([count, saved, process.outcomes(), disk.files()], [1, true, ['unwanted'], []]);
});

test('a response that is too old to be used, or from the future, is deleted', () => {
  using disk = new Disk();
  const process = disk.open();
  process.write(textEntry('/old', 'x', { lifetime: 100 }));
  process.write(textEntry('/validated', 'x', { lifetime: 100, etag: '"1"' }));
  process.write(textEntry('/stale', 'x', { lifetime: 100, staleIfError: 7_200 }));
  process.write(textEntry('/future', 'x', { receivedAt: disk.clock.now() + 3_600_000, etag: '"1"' }));
  disk.clock.pass(3_600_000 - 100_000);
  const next = disk.open().run();
  const found = ['/old', '/validated', '/stale', '/future'].map((target) => next.read(target).length);
  assert.deepEqual(found, [0, 1, 1, 0]);
  assert.deepEqual([disk.files().length, next.state.damaged], [2, 0]);
});

test('the files stay within the size', () => {
  using disk = new Disk();
  const process = disk.open({}, { size: 1_000_000 });
  for (let at = 0; at < 100; at++) process.write(textEntry(`/${at}`, 'x'.repeat(50_000)));
  const { bytes, entries } = process.state;
  assert.ok(bytes <= 1_000_000 && entries > 10, `${bytes} ${entries}`);
  assert.equal(disk.files().length, entries);
  const smaller = disk.open({}, { size: 300_000 }).run();
  assert.equal(disk.files().length, smaller.state.entries);
  assert.ok(smaller.state.bytes <= 300_000);
});

test('files of other versions, and a cache that was cleared, are deleted', () => {
  using disk = new Disk();
  mkdirSync(join(disk.path, 'v0/ab'), { recursive: true });
  writeFileSync(join(disk.path, 'v0/ab/file'), 'x');
  mkdirSync(join(disk.path, 'mine'));
  const process = disk.open().write(textEntry('/a', 'x'));
  process.store.handle({ kind: 'clear' });
  assert.deepEqual(process.read('/a'), []);
  process.write(textEntry('/b', 'x'));
  assert.deepEqual([disk.open().run().texts('/a'), disk.open().run().texts('/b')], [[], ['x']]);
  assert.deepEqual(
    ['v0', 'mine'].map((name) => statSync(join(disk.path, name), { throwIfNoEntry: false }) !== undefined),
    [false, true],
  );
});
