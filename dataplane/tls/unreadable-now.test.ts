// Runs alone: it replaces a function of node:fs for every caller.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePair } from '../../shared/certificates/testing/pairs.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import type { EntriesChange } from '../publish/publisher.ts';
import { CertificateManager, type CertificateManagerTools } from './certificate-manager.ts';
import { Keyring } from './keyring.ts';
import { DirectoryStore } from './store/directory-store.ts';

/** A certificate directory of whose files only `left` more can be read. */
class Directory {
  readonly root = fs.mkdtempSync(join(tmpdir(), 'unreadable-now-'));
  readonly clock = new ManualClock();
  readonly runtime = { clock: this.clock, random: systemRandom, log: memoryLog() };
  readonly path = join(this.root, 'certs');
  left = Number.POSITIVE_INFINITY;
  /** Why no more can be read. */
  code = 'EMFILE';
  private readonly original = fs.readFileSync;

  constructor() {
    fs.readFileSync = ((...args: Parameters<typeof fs.readFileSync>) => {
      if (`${args[0]}`.startsWith(this.path) && this.left-- <= 0) throw Object.assign(new Error(this.code), { code: this.code });
      return this.original(...args);
    }) as typeof fs.readFileSync;
    syncBuiltinESMExports();
  }

  async place(folder: string, name: string): Promise<void> {
    const { certificate, privateKey } = await makePair([name]);
    fs.mkdirSync(join(this.path, folder), { recursive: true });
    fs.writeFileSync(join(this.path, folder, 'cert.pem'), certificate);
    fs.writeFileSync(join(this.path, folder, 'key.pem'), privateKey);
  }

  [Symbol.dispose](): void {
    fs.readFileSync = this.original;
    syncBuiltinESMExports();
    fs.rmSync(this.root, { recursive: true });
  }
}

for (const folder of ['acme/a.test', 'mine'])
  test(`a new certificate in ${folder} for which there is no file descriptor is read later, and the previous one stays`, async () => {
    using directory = new Directory();
    await directory.place(folder, 'a.test');
    const store = new DirectoryStore(directory.path, directory.runtime);
    const [before] = (await store.list()).certificates;
    await directory.place(folder, 'a.test');
    directory.left = 0;
    const { certificates, problems } = await store.list();
    assert.deepEqual(certificates, [before]);
    assert.match(problems[0]?.reason ?? '', /EMFILE/);
    directory.left = Number.POSITIVE_INFINITY;
    const after = await store.list();
    assert.deepEqual([after.certificates.length, after.problems], [1, []]);
    assert.notEqual(after.certificates[0]?.serial, before?.serial);
    await store.close();
  });

// A file handle that the server no longer knows, a server that does not answer, and a file system in user space whose process has ended.
for (const code of ['ESTALE', 'ETIMEDOUT', 'ENOTCONN'])
  test(`a certificate on a network file system that fails with ${code} stays in use`, async () => {
    using directory = new Directory();
    directory.code = code;
    await directory.place('acme/a.test', 'a.test');
    const store = new DirectoryStore(directory.path, directory.runtime);
    const [before] = (await store.list()).certificates;
    await directory.place('acme/a.test', 'a.test');
    directory.left = 0;
    const { certificates, problems } = await store.list();
    assert.deepEqual(certificates, [before]);
    assert.match(problems[0]?.reason ?? '', new RegExp(`can't be read now \\(${code}\\); it is tried again$`));
    await store.close();
  });

test('what is served stays until the files of a new certificate can be read', async () => {
  using directory = new Directory();
  const { clock, runtime, root } = directory;
  await directory.place('acme/a.test', 'a.test');
  const published: EntriesChange[] = [];
  const nothing = async (): Promise<void> => undefined;
  const tools: CertificateManagerTools = {
    ...runtime,
    ...{ stateDir: root, noAcme: 'not in this test', keyring: new Keyring(root, clock.now(), runtime) },
    ...{ sites: () => [], site: () => null, addresses: () => [], httpPort: () => 80, reachable: nothing, opened: nothing },
    publisher: {
      generation: 0,
      async publish({ certificates }) {
        if (certificates !== undefined) published.push(certificates);
        return published.length;
      },
    },
  };
  const manager = await CertificateManager.open(directory.path, tools);
  assert.deepEqual(
    published.flatMap(({ upserts }) => upserts.map(({ domain }) => domain)),
    ['a.test'],
  );
  const before = published.length;
  await directory.place('acme/a.test', 'a.test');
  // The descriptors run out when the new pair has been read, but not yet to be published.
  directory.left = 2;
  await manager.admin.list();
  await until('a publication without it', () => published.length > before);
  assert.deepEqual(
    published.slice(before).map(({ upserts, removed }) => [upserts.length, removed.length]),
    [[0, 0]],
  );
  directory.left = Number.POSITIVE_INFINITY;
  const renewed = () => published.slice(before).flatMap(({ upserts }) => upserts.map(({ domain }) => domain));
  await until('the new certificate', () => {
    clock.pass(5_000);
    return renewed().length > 0;
  });
  assert.deepEqual(renewed(), ['a.test']);
  await manager.stop();
});
