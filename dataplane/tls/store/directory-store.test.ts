import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { type MadePair, makePair } from '../../../shared/certificates/testing/pairs.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { StoreChange } from './cert-store.ts';
import { DirectoryStore } from './directory-store.ts';

/** Uses an in-memory file system if there is one, because thousands of files are created and synced. */
const FOLDER = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

class Disk {
  readonly root = join(mkdtempSync(join(FOLDER, 'cert-store-')), 'certs');
  readonly clock = new ManualClock();
  readonly log = memoryLog();
  private readonly stores: DirectoryStore[] = [];

  open(clock = this.clock as typeof systemClock): DirectoryStore {
    const store = new DirectoryStore(this.root, { clock, random: systemRandom, log: this.log });
    this.stores.push(store);
    return store;
  }

  path(...parts: string[]): string {
    return join(this.root, ...parts);
  }

  /** Places a pair of files manually. */
  place(folder: string, { certificate, privateKey }: MadePair, names: readonly [string, string] = ['cert.pem', 'key.pem']): void {
    mkdirSync(this.path(folder), { recursive: true });
    writeFileSync(this.path(folder, names[0]), certificate);
    writeFileSync(this.path(folder, names[1]), privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const store of this.stores) await store.close();
    rmSync(join(this.root, '..'), { recursive: true });
  }
}

const read = ({ certificate, privateKey }: MadePair): Certificate => {
  const pair = readCertificate(certificate, privateKey);
  return pair.ok ? pair.value : assert.fail(pair.reason);
};

const made = async (...names: string[]): Promise<Certificate> => read(await makePair(names));

test('a stored certificate survives a restart, in a private file with its metadata, in a folder named after it', async () => {
  await using disk = new Disk();
  const pair = await made('*.a.test');
  await disk.open().put({ source: 'acme', domains: ['*.a.test'], pair, order: 'https://ca.test/order/1', ariId: 'x.y' });
  const again = disk.open();
  const { certificates, problems } = await again.list();
  assert.deepEqual(problems, []);
  const [stored] = certificates;
  assert.deepEqual(
    { ...stored },
    {
      id: 'acme/_.a.test',
      source: 'acme',
      domains: ['*.a.test'],
      issuer: 'self-signed',
      serial: pair.serial,
      notBefore: pair.notBefore,
      notAfter: pair.notAfter,
      savedAt: disk.clock.now(),
      order: 'https://ca.test/order/1',
      ariId: 'x.y',
    },
  );
  assert.deepEqual(await again.get('acme/_.a.test'), pair);
  assert.equal(statSync(disk.root).mode & 0o777, 0o700);
  for (const folder of ['acme', 'acme/_.a.test']) assert.equal(statSync(disk.path(folder)).mode & 0o777, 0o700);
  assert.deepEqual(readdirSync(disk.path('acme/_.a.test')).sort(), ['cert.pem', 'key.pem', 'meta.json']);
  assert.equal(statSync(disk.path('acme/_.a.test/key.pem')).mode & 0o777, 0o600);
});

test('a certificate replaces only one of the same source for the same domains', async () => {
  await using disk = new Disk();
  const store = disk.open();
  const first = await made('a.test', 'b.test');
  const second = await made('a.test', 'b.test');
  const { id } = await store.put({ source: 'pushed', domains: ['a.test', 'b.test'], pair: first });
  assert.equal((await store.put({ source: 'pushed', domains: ['b.test', 'a.test'], pair: second })).id, id);
  assert.match(id, /^pushed\/a\.test\+1-[0-9a-f]{8}$/);
  await store.put({ source: 'pushed', domains: ['a.test'], pair: first });
  await store.put({ source: 'acme', domains: ['a.test'], pair: first });
  const { certificates } = await store.list();
  assert.deepEqual(certificates.map((one) => one.id).sort(), ['acme/a.test', 'pushed/a.test', id].sort());
  assert.deepEqual(await store.get(id), second);
});

test('a deleted certificate is removed from disk, and a manually placed one is never deleted', async () => {
  await using disk = new Disk();
  const store = disk.open();
  await store.put({ source: 'pushed', domains: ['a.test'], pair: await made('a.test') });
  disk.place('mine', await makePair(['b.test']));
  await store.list();
  assert.equal(await store.delete('pushed/a.test'), true);
  assert.equal(await store.delete('pushed/a.test'), false);
  assert.equal(await store.delete('mine'), false);
  assert.deepEqual(readdirSync(disk.path('pushed')), []);
  assert.deepEqual(
    (await store.list()).certificates.map(({ id }) => id),
    ['mine'],
  );
});

test('a domain that would leave the directory is rejected before anything is written', async () => {
  await using disk = new Disk();
  const pair = await made('a.test');
  for (const domain of ['../x', '..', '.hidden', 'a/b', '', 'a\0b'])
    await assert.rejects(disk.open().put({ source: 'acme', domains: [domain], pair }), /no name for a folder/);
  assert.equal(existsSync(disk.root), false);
});

test('manually placed pairs are used for all their names, under any usual file name and through links', async () => {
  await using disk = new Disk();
  const pairs = await Promise.all(['a.test', 'b.test', 'c.test'].map((name) => makePair([name, `www.${name}`])));
  const [a, b, c] = pairs as [MadePair, MadePair, MadePair];
  mkdirSync(disk.root);
  disk.place('../live', a, ['fullchain.pem', 'privkey.pem']);
  writeFileSync(disk.path('../live/cert.pem'), 'not looked at');
  symlinkSync('../live', disk.path('from certbot'));
  disk.place('b', b);
  disk.place('c', c, ['tls.crt', 'tls.key']);
  mkdirSync(disk.path('notes'));
  writeFileSync(disk.path('README'), 'not a pair');
  const store = disk.open();
  const { certificates, problems } = await store.list();
  assert.deepEqual(problems, []);
  assert.deepEqual(certificates.map(({ id, source, domains }) => [id, source, ...domains]).sort(), [
    ['b', 'file', 'b.test', 'www.b.test'],
    ['c', 'file', 'c.test', 'www.c.test'],
    ['from certbot', 'file', 'a.test', 'www.a.test'],
  ]);
  assert.equal((await store.get('from certbot'))?.privateKey, a.privateKey);
});

test('a truncated, missing, unreadable or oversized file counts as absent, affects only its name, and is reported once', async () => {
  await using disk = new Disk();
  const store = disk.open();
  const pair = await made('good.test');
  for (const name of ['good.test', 'torn.test', 'half.test', 'odd.test', 'folder.test', 'meta.test'])
    await store.put({ source: 'acme', domains: [name], pair });
  const key = disk.path('acme/torn.test/key.pem');
  writeFileSync(key, readFileSync(key, 'utf8').slice(0, 60));
  rmSync(disk.path('acme/half.test/cert.pem'));
  writeFileSync(disk.path('acme/odd.test/cert.pem'), 'x'.repeat(300_000));
  rmSync(disk.path('acme/folder.test/key.pem'));
  mkdirSync(disk.path('acme/folder.test/key.pem'));
  writeFileSync(disk.path('acme/meta.test/meta.json'), '{"dom');
  for (const at of [store, disk.open()]) {
    const { certificates, problems } = await at.list();
    assert.deepEqual(
      certificates.map(({ id }) => id),
      ['acme/good.test', 'acme/meta.test'],
    );
    assert.deepEqual(problems.map(({ id, reason }) => `${id}: ${reason.replaceAll(disk.root, '')}`).sort(), [
      'acme/folder.test: /acme/folder.test/key.pem is not a file; put the file there',
      'acme/half.test: /acme/half.test/cert.pem is missing; put it there',
      'acme/odd.test: /acme/odd.test/cert.pem is larger than 262144 bytes; put only the chain or the key there',
      'acme/torn.test: /acme/torn.test/key.pem: part 1 (PRIVATE KEY) was cut off, so there is no private key to use; provide the whole file',
    ]);
    assert.equal(await at.get('acme/torn.test'), null);
  }
  let reported = 0;
  store.watch(() => reported++);
  await store.list();
  assert.equal(reported, 0);
  await store.put({ source: 'acme', domains: ['torn.test'], pair });
  assert.deepEqual(await store.get('acme/torn.test'), pair);
});

test('a crash at any moment of a write leaves the old pair or the new one, never a mix', async () => {
  const files = ['key.pem', 'cert.pem', 'meta.json'];
  const old = await made('a.test');
  const next = await made('a.test');
  for (const renamed of [0, 1, 2, 3]) {
    await using disk = new Disk();
    const store = disk.open();
    await store.put({ source: 'acme', domains: ['a.test'], pair: next, order: 'https://ca.test/order/2' });
    const folder = disk.path('acme/a.test');
    for (const file of files) renameSync(join(folder, file), join(folder, `${file}.new`));
    writeFileSync(join(folder, 'key.pem'), old.privateKey);
    writeFileSync(join(folder, 'cert.pem'), old.chain);
    const meta = JSON.parse(readFileSync(join(folder, 'meta.json.new'), 'utf8')) as object;
    writeFileSync(join(folder, 'meta.json'), JSON.stringify({ ...meta, order: 'https://ca.test/order/1' }));
    for (const file of files.slice(0, renamed)) renameSync(join(folder, `${file}.new`), join(folder, file));
    const again = disk.open();
    const { certificates, problems } = await again.list();
    assert.deepEqual(problems, []);
    assert.deepEqual(await again.get('acme/a.test'), renamed === 0 ? old : next, `${renamed} renamed`);
    assert.equal(certificates[0]?.order, `https://ca.test/order/${renamed === 0 ? 1 : 2}`, `${renamed} renamed`);
  }
});

test('a pair that another process is writing, or that a crash has cut before all of it was written, is not there so far', async () => {
  for (const written of [['key.pem'], ['key.pem', 'cert.pem']]) {
    await using disk = new Disk();
    const other = disk.open();
    mkdirSync(disk.path('acme/a.test'), { recursive: true });
    for (const file of written) writeFileSync(disk.path('acme/a.test', `${file}.new`), '');
    assert.deepEqual(await other.list(), { certificates: [], problems: [] });
    assert.deepEqual(readdirSync(disk.path('acme/a.test')).sort(), written.map((file) => `${file}.new`).sort());
    await disk.open().put({ source: 'acme', domains: ['a.test'], pair: await made('a.test') });
    assert.equal((await other.list()).certificates.length, 1);
  }
});

test('the last good pair stays in use while its files are being replaced, but not after they are deleted', async () => {
  await using disk = new Disk();
  const one = await makePair(['a.test']);
  const other = await makePair(['a.test']);
  disk.place('mine', one);
  const store = disk.open();
  await store.list();
  writeFileSync(disk.path('mine/cert.pem'), other.certificate);
  const torn = await store.list();
  assert.deepEqual([torn.certificates.length, torn.problems.length], [1, 1]);
  assert.equal((await store.get('mine'))?.chain, one.certificate);
  writeFileSync(disk.path('mine/key.pem'), other.privateKey);
  const whole = await store.list();
  assert.deepEqual([whole.certificates[0]?.serial, whole.problems.length], [read(other).serial, 0]);
  assert.equal((await store.get('mine'))?.chain, other.certificate);
  rmSync(disk.path('mine'), { recursive: true });
  assert.deepEqual(await store.list(), { certificates: [], problems: [] });
});

test('changes that the system does not report are found within a minute', async () => {
  await using disk = new Disk();
  const store = disk.open();
  await store.list();
  const changes: StoreChange[] = [];
  store.watch((change) => changes.push(change));
  const seen = async (): Promise<StoreChange> => {
    disk.clock.pass(60_000);
    await store.get('');
    await store.list();
    return changes.splice(0).at(-1) ?? assert.fail('nothing was reported');
  };
  disk.place('mine', await makePair(['a.test']));
  assert.deepEqual(
    (await seen()).put.map(({ id }) => id),
    ['mine'],
  );
  writeFileSync(disk.path('mine/key.pem'), '');
  assert.deepEqual(
    (await seen()).problems.map(({ id }) => id),
    ['mine'],
  );
  rmSync(disk.path('mine'), { recursive: true });
  assert.deepEqual(await seen(), { put: [], removed: ['mine'], problems: [] });
});

test('a new folder, changed files and a redirected link are reported immediately', async () => {
  await using disk = new Disk();
  mkdirSync(disk.root);
  const store = disk.open(systemClock);
  await store.list();
  let reported: () => void = () => undefined;
  const serials = new Set<string>();
  store.watch(({ put }) => {
    for (const { serial } of put) serials.add(serial);
    reported();
  });
  const sees = async ({ certificate, privateKey }: MadePair): Promise<void> => {
    const { serial } = read({ certificate, privateKey } as MadePair);
    while (!serials.has(serial)) await new Promise<void>((resolve) => (reported = resolve));
  };
  const [a, b, c, d] = (await Promise.all([1, 2, 3, 4].map(() => makePair(['a.test'])))) as [MadePair, MadePair, MadePair, MadePair];
  disk.place('mine', a);
  await sees(a);
  disk.place('mine', b);
  await sees(b);
  disk.place('../v1', c);
  disk.place('../v2', d);
  symlinkSync('../v1', disk.path('linked'));
  await sees(c);
  symlinkSync('../v2', disk.path('.swap'));
  renameSync(disk.path('.swap'), disk.path('linked'));
  await sees(d);
  const e = await makePair(['a.test']);
  disk.place('../v2', e);
  await sees(e);
});

test('concurrent writes do not mix, and each is reported', async () => {
  await using disk = new Disk();
  const store = disk.open();
  const reported: string[] = [];
  store.watch(({ put }) => reported.push(...put.map(({ serial }) => serial)));
  const pairs = await Promise.all(Array.from({ length: 8 }, () => made('a.test')));
  await Promise.all([...pairs.map((pair) => store.put({ source: 'acme', domains: ['a.test'], pair })), store.list()]);
  assert.deepEqual(
    reported,
    pairs.map(({ serial }) => serial),
  );
  assert.deepEqual(await store.get('acme/a.test'), pairs.at(-1));
});

test('accounts are stored per authority, readable only by their owner', async () => {
  await using disk = new Disk();
  const store = disk.open();
  assert.equal(await store.account('https://one.test/dir'), null);
  await store.putAccount('https://one.test/dir', 'first');
  await store.putAccount('https://one.test/other', 'second');
  const again = disk.open();
  assert.equal(await again.account('https://one.test/dir'), 'first');
  assert.equal(await again.account('https://one.test/other'), 'second');
  for (const file of readdirSync(disk.path('accounts'))) {
    assert.match(file, /^one\.test-[0-9a-f]{8}\.json$/);
    assert.equal(statSync(disk.path('accounts', file)).mode & 0o777, 0o600);
  }
  assert.deepEqual(await again.list(), { certificates: [], problems: [] });
});

test('a failed write leaves the previous certificate', { skip: process.getuid?.() !== 0 && 'drops root privileges' }, async () => {
  await using disk = new Disk();
  const store = disk.open();
  const pair = await made('a.test');
  await store.put({ source: 'acme', domains: ['a.test'], pair });
  for (const path of ['..', '.', 'acme', 'acme/a.test']) chmodSync(disk.path(path), 0o755);
  for (const file of ['cert.pem', 'key.pem', 'meta.json']) chmodSync(disk.path('acme/a.test', file), 0o644);
  process.seteuid?.(65_534);
  try {
    await assert.rejects(store.put({ source: 'acme', domains: ['a.test'], pair: await made('a.test') }), { code: 'EACCES' });
    assert.deepEqual(await store.get('acme/a.test'), pair);
  } finally {
    process.seteuid?.(0);
  }
});

test('10,000 certificates are listed, listed again, and read', async () => {
  await using disk = new Disk();
  mkdirSync(disk.root);
  disk.place('../one', await makePair(['a.test']));
  mkdirSync(disk.path('acme'));
  // Creating 10,000 folders would take longer than reading them.
  for (let number = 0; number < 10_000; number++) symlinkSync('../../one', disk.path('acme', `n${number}.test`));
  const store = disk.open();
  for (let time = 0; time < 2; time++) assert.equal((await store.list()).certificates.length, 10_000);
  for (let number = 0; number < 10_000; number++) assert.ok(await store.get(`acme/n${number}.test`));
});

test('files with unexpected names or outside a folder are reported with the names to use', async () => {
  await using disk = new Disk();
  const pair = await makePair(['a.test']);
  disk.place('misnamed', pair, ['a.test.crt', 'a.test.key']);
  writeFileSync(disk.path('stray.pem'), pair.certificate);
  mkdirSync(disk.path('notes'));
  for (const path of ['README', 'notes/README']) writeFileSync(disk.path(path), 'nothing of the kind');
  mkdirSync(disk.path('empty'));
  const store = disk.open();
  const { certificates, problems } = await store.list();
  assert.deepEqual(certificates, []);
  assert.deepEqual(
    problems.map(({ id, source, reason }) => [id, source, reason]),
    [
      [
        'misnamed',
        'file',
        `${disk.path('misnamed')} has no files with the expected names, only a.test.crt, a.test.key; rename them to fullchain.pem and privkey.pem, or cert.pem and key.pem, or tls.crt and tls.key`,
      ],
      [
        'stray.pem',
        'file',
        `${disk.path('stray.pem')} is not in a folder; put the chain and its key into a separate folder as fullchain.pem and privkey.pem`,
      ],
    ],
  );
  renameSync(disk.path('misnamed', 'a.test.crt'), disk.path('misnamed', 'tls.crt'));
  renameSync(disk.path('misnamed', 'a.test.key'), disk.path('misnamed', 'tls.key'));
  rmSync(disk.path('stray.pem'));
  const fixed = await store.list();
  assert.deepEqual([fixed.certificates.map(({ id }) => id), fixed.problems], [['misnamed'], []]);
});
