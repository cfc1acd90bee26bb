import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCertificate } from '../../../shared/certificates/certificate.ts';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { describeFileError, makeReadable } from './directory-access.ts';
import { DirectoryStore } from './directory-store.ts';

const skip = process.getuid?.() !== 0 && 'drops root privileges';
const NOBODY = 65_534;

class Disk {
  readonly root = mkdtempSync(join(tmpdir(), 'unusable-'));
  private readonly stores: DirectoryStore[] = [];

  open(path = this.root): DirectoryStore {
    const store = new DirectoryStore(path, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
    this.stores.push(store);
    return store;
  }

  async place(folder: string): Promise<void> {
    const { certificate, privateKey } = await makePair([`${folder.replace('/', '.')}.test`]);
    mkdirSync(join(this.root, folder), { recursive: true });
    writeFileSync(join(this.root, folder, 'cert.pem'), certificate);
    writeFileSync(join(this.root, folder, 'key.pem'), privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.stores) await store.close();
    rmSync(this.root, { recursive: true });
  }
}

async function asNobody(task: () => Promise<void>): Promise<void> {
  process.seteuid?.(NOBODY);
  try {
    await task();
  } finally {
    process.seteuid?.(0);
  }
}

test('a directory that cannot be created is reported', { skip: process.platform !== 'linux' }, () => {
  assert.throws(
    () => makeReadable('/proc/none/certs'),
    (error) => describeFileError(error) === 'no directory can be created there',
  );
});

test('a missing directory counts as empty, and is created only when something is stored', async () => {
  await using disk = new Disk();
  const path = join(disk.root, 'a/b');
  const store = disk.open(path);
  store.watch(() => undefined);
  assert.deepEqual(await store.list(), { certificates: [], problems: [] });
  assert.equal(existsSync(path), false);
  const { certificate, privateKey } = await makePair(['a.test']);
  const pair = readCertificate(certificate, privateKey);
  assert.ok(pair.ok);
  await store.put({ source: 'pushed', domains: ['a.test'], pair: pair.value });
  assert.equal((await disk.open(path).list()).certificates.length, 1);
});

test('certificates in a read-only directory are used, and storing one reports the reason', { skip }, async () => {
  await using disk = new Disk();
  await disk.place('mine');
  await disk.place('pushed/theirs');
  for (const path of ['.', 'mine', 'pushed', 'pushed/theirs']) chmodSync(join(disk.root, path), 0o755);
  for (const path of ['mine', 'pushed/theirs']) chmodSync(join(disk.root, path, 'key.pem'), 0o644);
  // A crash left temporary files of a pair that can't be renamed here.
  writeFileSync(join(disk.root, 'pushed/theirs/meta.json.new'), '{}');
  await asNobody(async () => {
    const store = disk.open();
    const { certificates, problems } = await store.list();
    assert.deepEqual(
      certificates.map(({ id }) => id),
      ['pushed/theirs', 'mine'],
    );
    assert.deepEqual(problems, []);
    await assert.rejects(store.prepare(), { code: 'EACCES' });
  });
  assert.deepEqual(readdirSync(disk.root).sort(), ['mine', 'pushed']);
  await disk.open().prepare();
});

test('an unreadable folder is reported, affects only its own certificates, and its known ones stay in use', { skip }, async () => {
  await using disk = new Disk();
  await disk.place('mine');
  await disk.place('acme/theirs');
  for (const path of ['.', 'mine', 'acme']) chmodSync(join(disk.root, path), 0o755);
  for (const path of ['mine', 'acme/theirs']) chmodSync(join(disk.root, path, 'key.pem'), 0o644);
  const known = disk.open();
  assert.equal((await known.list()).certificates.length, 2);
  chmodSync(join(disk.root, 'acme'), 0o700);
  await asNobody(async () => {
    const { certificates, problems } = await disk.open().list();
    assert.deepEqual(
      certificates.map(({ id }) => id),
      ['mine'],
    );
    assert.deepEqual(problems, [
      {
        id: 'acme',
        source: 'acme',
        reason: `${join(disk.root, 'acme')} can't be read (permission denied); give it to the user that this process runs as`,
      },
    ]);
    const later = await known.list();
    assert.deepEqual([later.certificates.length, later.problems.length], [2, 1]);
  });
  chmodSync(join(disk.root, 'acme'), 0o755);
  assert.deepEqual((await known.list()).problems, []);
});

test('an ordered certificate whose files become inaccessible is reported, and stays in use', { skip }, async () => {
  await using disk = new Disk();
  await disk.place('acme/a.test');
  const folder = join(disk.root, 'acme/a.test');
  for (const path of [disk.root, join(disk.root, 'acme'), folder]) chmodSync(path, 0o755);
  chmodSync(join(folder, 'key.pem'), 0o644);
  const known = disk.open();
  assert.equal((await known.list()).certificates.length, 1);
  // As after chmod -R go-rwx, or chmod -R 600, which takes away the right to enter folders.
  for (const [path, mode] of [
    [join(folder, 'key.pem'), 0o644],
    [folder, 0o755],
  ] as const) {
    chmodSync(path, 0o600);
    await asNobody(async () => {
      const { certificates, problems } = await known.list();
      assert.deepEqual(
        certificates.map(({ id }) => id),
        ['acme/a.test'],
      );
      assert.match(problems[0]?.reason ?? '', /\.pem can't be read \(permission denied\); give it to the user/);
    });
    chmodSync(path, mode);
    assert.deepEqual((await known.list()).problems, []);
  }
});

test('a pair behind a dangling link or in an inaccessible folder is reported, and its last version stays in use', {
  skip,
}, async () => {
  await using disk = new Disk();
  const outside = join(disk.root, 'outside');
  const inside = (path: string) => join(disk.root, 'certs', path);
  await disk.place('outside/live');
  mkdirSync(inside('lost+found'), { recursive: true, mode: 0o700 });
  symlinkSync(join(outside, 'live'), inside('mine'));
  symlinkSync('/nowhere', inside('gone'));
  mkdirSync(inside('files'));
  for (const name of ['fullchain.pem', 'privkey.pem']) symlinkSync(`/nowhere/${name}`, inside(`files/${name}`));
  for (const path of ['.', 'certs', 'certs/files', 'outside', 'outside/live']) chmodSync(join(disk.root, path), 0o755);
  chmodSync(join(outside, 'live/key.pem'), 0o644);
  const known = disk.open(inside('.'));
  assert.equal((await known.list()).certificates.length, 1);
  chmodSync(outside, 0o700);
  await asNobody(async () => {
    const { certificates, problems } = await disk.open(inside('.')).list();
    assert.deepEqual(certificates, []);
    assert.deepEqual(problems.map(({ reason }) => reason.replace(disk.root, '')).sort(), [
      '/certs/files/fullchain.pem is missing; put it there',
      '/certs/gone/fullchain.pem is missing; put it there',
      "/certs/mine/fullchain.pem can't be read (permission denied); give it to the user that this process runs as",
    ]);
    assert.deepEqual(
      (await known.list()).certificates.map(({ id }) => id),
      ['mine'],
    );
  });
  chmodSync(outside, 0o755);
  assert.equal((await known.list()).problems.length, 2);
});
