import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
    await issuer.stop();
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('an order that has not presented a challenge when another process takes over is left to that process', async () => {
  await using server = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'issuer-'));
  const certs = join(root, 'certs');
  const edge = { clock: new ManualClock(), random: systemRandom, log: memoryLog(), instance: 'test' };
  const store = new DirectoryStore(certs, edge);
  const published: unknown[] = [];
  const publisher = { generation: 0, publish: async (change: object) => published.push(change) };
  const issuer = new AcmeIssuer({ ...edge, stateDir: root, store, publisher, published: async () => undefined, current: () => null });
  issuer.setAcme(server.settings);
  server.before.set('/authorization', () => void issuer.pause());
  await assert.rejects(issuer.issue('shop.test', null), (error) => {
    assert.ok(error instanceof IssueError);
    assert.deepEqual(
      [error.kind, error.message],
      ['local', 'shop.test: the process hands over or ends; the next one goes on with the order'],
    );
    return true;
  });
  assert.deepEqual([published, server.requested.includes('/check')], [[], false]);
  const { begun } = JSON.parse(readFileSync(join(certs, '.orders/shop.test'), 'utf8')) as { begun: { url: string } };
  assert.equal(begun.url, server.url('/order/1'));
  await issuer.stop();
  await store.close();
  rmSync(root, { recursive: true, maxRetries: 10 });
});
