import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { DirectoryStore } from '../../store/directory-store.ts';
import { accountName } from '../../store/folder-name.ts';
import { AccountGoneError } from '../issue-error.ts';
import { FaultyAcmeServer } from '../testing/faulty-acme-server.ts';
import { AccountManager } from './account-manager.ts';
import { newPrivateKey } from './private-key.ts';

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

test('no account is registered while its key can not be saved, and one that is being registered keeps its key', async () => {
  await using odd = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'accounts-'));
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
  const path = join(root, 'accounts', accountName(odd.settings.directory));
  const open = async (): Promise<string> => {
    const accounts = new AccountManager(store, memoryLog());
    accounts.setAcme(odd.settings);
    let key = '';
    await accounts.withClient(async ({ account }) => {
      key = account.key;
    });
    return key;
  };
  try {
    // Nothing can be written under this name.
    mkdirSync(`${path}.new`, { recursive: true });
    for (let tries = 0; tries < 3; tries++) await assert.rejects(open());
    assert.deepEqual(odd.requested, []);
    rmSync(`${path}.new`, { recursive: true });
    odd.before.set('/account', () => mkdirSync(`${path}.new`));
    await assert.rejects(open(), 'the URL of the account can not be saved');
    odd.before.clear();
    rmSync(`${path}.new`, { recursive: true });
    const { next } = JSON.parse(readFileSync(path, 'utf8')) as { next: string };
    assert.equal(await open(), next);
    const { key } = JSON.parse(readFileSync(path, 'utf8')) as { key: string };
    assert.equal(key, next);
    const asked = odd.requested.length;
    assert.equal(await open(), next);
    assert.equal(odd.requested.length, asked, 'it is registered');
  } finally {
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('an account that is gone is replaced by one with a new key, and stays saved until then', async () => {
  await using odd = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'accounts-'));
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
  const path = join(root, 'accounts', accountName(odd.settings.directory));
  const accounts = new AccountManager(store, memoryLog());
  accounts.setAcme(odd.settings);
  const old = { key: newPrivateKey(), url: odd.url('/account/0') };
  const keys: string[] = [];
  const use = (): Promise<void> =>
    accounts.withClient(async ({ account }) => {
      keys.push(account.key);
      if (account.key === old.key) throw new AccountGoneError('it was deactivated');
    });
  try {
    await store.putAccount(odd.settings.directory, JSON.stringify(old));
    odd.overrides.set('/account', { status: 503 });
    await assert.rejects(use(), /answers 503/);
    const saved = JSON.parse(readFileSync(path, 'utf8')) as { key: string; next: string };
    assert.equal(saved.key, old.key);
    odd.overrides.clear();
    await use();
    assert.deepEqual(keys, [old.key, old.key, saved.next]);
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { key: saved.next, url: odd.url('/account/1') });
  } finally {
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('the directory is read again after a failure at the URLs in it, which the authority may have changed', async () => {
  await using odd = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'accounts-'));
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
  const accounts = new AccountManager(store, memoryLog());
  accounts.setAcme(odd.settings);
  const wish = { name: 'shop.test', replaces: null, challengeTypes: ['http-01'], begun: null } as const;
  const request = { ...wish, remember: async () => undefined, challengeFailed: () => undefined };
  const order = (): Promise<void> =>
    accounts.withClient(async (client) => void (await client.issue(request, { present: async () => undefined, cleanUp: () => undefined })));
  try {
    odd.overrides.set('/check', { status: 200, body: { type: 'http-01', status: 'valid' } });
    await assert.rejects(order(), /there is no \/finalize/);
    const [newNonce, newAccount, newOrder] = ['/nonce', '/account', '/v2/order'].map((each) => odd.url(each));
    odd.overrides.set('/dir', { status: 200, body: { newNonce, newAccount, newOrder } });
    odd.overrides.set('/order', { status: 404, body: '<h1>not here</h1>' });
    odd.overrides.set('/v2/order', {
      status: 201,
      headers: { location: odd.url('/v2/order/1') },
      body: { status: 'ready', authorizations: [], finalize: odd.url('/v2/finalize') },
    });
    await assert.rejects(order(), /there is no \/v2\/finalize/);
  } finally {
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('another e-mail address is sent to the authority once, and orders go on if it is not accepted', async () => {
  await using odd = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'accounts-'));
  const log = memoryLog();
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log });
  const use = async (email: string): Promise<string[]> => {
    const before = odd.requested.length;
    const accounts = new AccountManager(store, log);
    accounts.setAcme({ ...odd.settings, email });
    await accounts.withClient(async ({ account }) => assert.equal(account.url, odd.url('/account/1')));
    return odd.requested.slice(before).filter((path) => path.startsWith('/account'));
  };
  try {
    assert.deepEqual(await use('one@a.test'), ['/account']);
    assert.deepEqual(await use('one@a.test'), []);
    odd.overrides.set('/account/1', { status: 400, body: { type: 'urn:ietf:params:acme:error:invalidContact', detail: 'not that one' } });
    assert.deepEqual(await use('two@a.test'), ['/account/1']);
    assert.match(JSON.stringify(log.lines), /not that one.*the e-mail address could not be changed/);
    odd.overrides.set('/account/1', { status: 200, body: { status: 'valid' } });
    assert.deepEqual(await use('two@a.test'), ['/account/1']);
    assert.deepEqual(await use('two@a.test'), []);
  } finally {
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});

test('another external account binding registers another account, and the same one does not', async () => {
  await using odd = await FaultyAcmeServer.start();
  const root = mkdtempSync(join(tmpdir(), 'accounts-'));
  const store = new DirectoryStore(root, { clock: new ManualClock(), random: systemRandom, log: memoryLog() });
  const use = async (kid: string | null): Promise<string> => {
    const accounts = new AccountManager(store, memoryLog());
    accounts.setAcme({ ...odd.settings, binding: kid === null ? null : { kid, key: 'c2VjcmV0' } });
    let key = '';
    await accounts.withClient(async ({ account }) => {
      key = account.key;
    });
    return key;
  };
  try {
    const first = await use('one');
    assert.equal(await use('one'), first);
    assert.equal(await use(null), first, 'without one, the account is kept');
    odd.overrides.set('/account', { status: 503 });
    await assert.rejects(use('two'), /answers 503/);
    odd.overrides.clear();
    const second = await use('two');
    assert.notEqual(second, first);
    assert.equal(await use('two'), second);
  } finally {
    await store.close();
    rmSync(root, { recursive: true, maxRetries: 10 });
  }
});
