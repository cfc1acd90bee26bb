import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { DirectoryStore } from '../store/directory-store.ts';
import { AcmeIssuer } from './acme-issuer.ts';
import { IssueError } from './issue-error.ts';
import { FaultyAcmeServer } from './testing/faulty-acme-server.ts';

test('a certificate directory that fails during an order is reported with the path, not as an authority that can not be reached', async () => {
  await using server = await FaultyAcmeServer.start();
  for (const folder of ['.orders', '.challenges']) {
    const root = mkdtempSync(join(tmpdir(), 'issuer-'));
    const certs = join(root, 'certs');
    const edge = { clock: new ManualClock(), random: systemRandom, log: memoryLog(), instance: 'test' };
    const store = new DirectoryStore(certs, edge);
    const published = async (): Promise<void> => undefined;
    const publisher = { generation: 0, publish: async () => 1 };
    const issuer = new AcmeIssuer({ ...edge, stateDir: root, store, publisher, published, current: () => null });
    issuer.setAcme(server.settings);
    server.before.set('/order', () => {
      rmSync(join(certs, folder), { recursive: true, force: true });
      writeFileSync(join(certs, folder), '');
    });
    await assert.rejects(issuer.issue('shop.test', null), (error) => {
      assert.ok(error instanceof IssueError);
      assert.equal(error.kind, 'local', error.message);
      assert.match(
        error.message,
        /^shop\.test: the certificate directory can't be used \(it is not a directory: .*\/certs\/\.\w+\); name another one/,
      );
      assert.ok(error.message.includes(folder), error.message);
      return true;
    });
    issuer.stop();
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});
