import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { DirectoryStore } from '../../store/directory-store.ts';
import { FaultyAcmeServer } from '../testing/faulty-acme-server.ts';
import { AccountManager } from './account-manager.ts';

test('a damaged account is replaced by a new one, an intact one is reused, and its content is never logged', async () => {
  await using odd = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'accounts-'));
  const log = memoryLog();
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log });
  const use = async (): Promise<number> => {
    const before = odd.requested.filter((path) => path === '/account').length;
    const accounts = new AccountManager(store, log);
    accounts.setAcme(odd.settings);
    await accounts.withClient(async (authority) => assert.match(authority.account.url, /\/account\/1$/));
    return odd.requested.filter((path) => path === '/account').length - before;
  };
  try {
    assert.equal(await use(), 1);
    const path = join(root, 'accounts', readdirSync(join(root, 'accounts'))[0] ?? '');
    const good = readFileSync(path, 'utf8');
    assert.equal(await use(), 0);
    const { url } = JSON.parse(good) as { url: string };
    for (const torn of ['', 'null', '[]', good.slice(0, 120), good.slice(0, -4), JSON.stringify({ url, key: 'xyzzy' }), '{"key":5}']) {
      writeFileSync(path, torn);
      assert.equal(await use(), 1, torn);
      assert.equal(await use(), 0, 'the new one is saved');
    }
    assert.match(JSON.stringify(log.lines), /account for the certificate authority is damaged/);
    assert.doesNotMatch(JSON.stringify(log.lines), /PRIVATE KEY|xyzzy/);
  } finally {
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});
