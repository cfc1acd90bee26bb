import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { SmallDisk, skipped } from '../../../shared/runtime/testing/small-disk.ts';
import { DirectoryStore } from './directory-store.ts';
import { UnreadableNowError } from './pair-folder.ts';

const FULL = { code: 'ENOSPC' };

async function made(name: string): Promise<Certificate> {
  const { certificate, privateKey } = await makePair([name]);
  const read = readCertificate(certificate, privateKey);
  if (!read.ok) throw new Error(read.reason);
  return read.value;
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).flatMap((entry) => (entry.isFile() ? [entry.name] : []));

test('on a full disk neither a lock nor a certificate leaves files behind, however often it is tried', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  const store = new DirectoryStore(disk.state, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
  const [old, next] = [await made('old.test'), await made('next.test')];
  await store.put({ source: 'acme', domains: ['old.test'], pair: old });
  const lease = await store.lock('old.test', 30_000);
  const before = filesIn(disk.state);
  disk.fill();
  for (let tries = 0; tries < 5; tries++) {
    await assert.rejects(store.lock('next.test', 30_000), FULL);
    await assert.rejects(lease?.renew() ?? Promise.resolve(), FULL);
  }
  // The key fits, and the chain does not.
  disk.free(1);
  await assert.rejects(store.put({ source: 'acme', domains: ['next.test'], pair: next }), FULL);
  const { certificates, problems } = await store.list();
  assert.deepEqual([certificates.map(({ id }) => id), problems], [['acme/old.test'], []]);
  assert.deepEqual(filesIn(disk.state).sort(), before.sort());
  disk.empty();
  assert.notEqual(await store.lock('next.test', 30_000), null);
  await store.put({ source: 'acme', domains: ['next.test'], pair: next });
  assert.deepEqual(await store.get('acme/next.test'), next);
  await store.close();
});

for (const [where, of] of [
  ['a disk', (disk: SmallDisk) => disk.path],
  ['a folder of a disk', (disk: SmallDisk) => join(disk.path, 'etc/certs')],
] as const)
  test(`certificates on ${where} stay in use when it is unmounted, and nothing is written below its mount point`, async (context) => {
    using disk = new SmallDisk();
    if (skipped(context, disk)) return;
    const root = of(disk);
    const clock = new ManualClock();
    const store = new DirectoryStore(root, { clock, random: systemRandom, log: memoryLog() });
    const pair = await made('a.test');
    await store.put({ source: 'acme', domains: ['a.test'], pair });
    const removals: string[] = [];
    store.watch(({ removed }) => removals.push(...removed));
    assert.equal((await store.list()).certificates.length, 1);
    assert.equal(spawnSync('umount', [disk.path]).status, 0);
    const { certificates, problems } = await store.list();
    assert.deepEqual(
      certificates.map(({ id }) => id),
      ['acme/a.test'],
    );
    assert.match(problems.map(({ reason }) => reason).join(), /^the file system of .* is no longer mounted; mount it again, or restart/);
    assert.notEqual(await store.refresh('a.test'), null);
    await assert.rejects(store.get('acme/a.test'), UnreadableNowError);
    await assert.rejects(store.prepare(), { code: 'ENODEV' });
    await assert.rejects(store.put({ source: 'acme', domains: ['a.test'], pair }), { code: 'ENODEV' });
    await assert.rejects(store.write('instances', 'one', '{}'), { code: 'ENODEV' });
    await assert.rejects(store.lock('a.test', 30_000), { code: 'ENODEV' });
    assert.deepEqual([readdirSync(disk.path), removals], [[], []]);
    // Another disk, with other certificates.
    assert.equal(spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', disk.path]).status, 0);
    const other = new DirectoryStore(root, { clock, random: systemRandom, log: memoryLog() });
    await other.put({ source: 'acme', domains: ['b.test'], pair: await made('b.test') });
    const next = await store.list();
    assert.deepEqual([next.certificates.map(({ id }) => id), next.problems], [['acme/b.test'], []]);
    await store.prepare();
    for (const each of [store, other]) await each.close();
  });

test('certificates also stay in use if their disk could not be read for a while before it was unmounted', async (context) => {
  using disk = new SmallDisk();
  if (skipped(context, disk)) return;
  const mountPoint = mkdtempSync(join(tmpdir(), 'sluice-empty-'));
  const root = `${mountPoint}-certificates`;
  const become = (target: string): void => {
    symlinkSync(target, `${root}.new`);
    renameSync(`${root}.new`, root);
  };
  become(disk.state);
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
  await store.put({ source: 'acme', domains: ['a.test'], pair: await made('a.test') });
  const idsAfter = async (target: string): Promise<string[]> => {
    become(target);
    return (await store.list()).certificates.map(({ id }) => id);
  };
  assert.deepEqual(await idsAfter(disk.state), ['acme/a.test']);
  // As with a server that is away, no call about it succeeds.
  assert.deepEqual(await idsAfter(root), ['acme/a.test']);
  assert.deepEqual(await idsAfter(mountPoint), ['acme/a.test']);
  await assert.rejects(store.prepare(), { code: 'ENODEV' });
  assert.deepEqual(await idsAfter(disk.state), ['acme/a.test']);
  await store.prepare();
  await store.close();
  rmSync(root);
  rmdirSync(mountPoint);
});
