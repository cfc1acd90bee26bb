import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemRandom } from '../../../../shared/runtime/random.ts';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { DirectoryStore } from '../../store/directory-store.ts';
import { type SharedToken, SharedTokens } from './shared-tokens.ts';

const TOKEN = { token: 'token-1', keyAuthorization: 'token-1.thumbprint' };

/** Processes that share a certificate directory and a clock. */
class Scene {
  readonly folder = mkdtempSync(join(tmpdir(), 'tokens-'));
  readonly clock = new ManualClock();

  async process(instance: string): Promise<{ tokens: SharedTokens; found: SharedToken[][] }> {
    const { clock } = this;
    const log = memoryLog();
    const found: SharedToken[][] = [];
    const store = new DirectoryStore(this.folder, { clock, random: systemRandom, log, instance });
    const tokens = new SharedTokens({ store, clock, log, instance, found: async (all) => void found.push([...all]) });
    tokens.start();
    await turn();
    return { tokens, found };
  }

  async pass(ms: number): Promise<void> {
    this.clock.pass(ms);
    await turn();
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, maxRetries: 10 });
  }
}

/** Lets everything run that waits only for other promises. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise is settled. */
async function isOver(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  void promise.then(() => {
    over = true;
  });
  await turn();
  return over;
}

test('a token is presented once the other instances have it, or after the maximum wait', async () => {
  using scene = new Scene();
  const one = await scene.process('one');
  const other = await scene.process('other');
  const put = one.tokens.put(TOKEN);
  assert.equal(await isOver(put), false);
  await scene.pass(1_000);
  assert.deepEqual([other.found, one.found], [[[TOKEN]], []]);
  await scene.pass(500);
  assert.equal(await isOver(put), true);
  await one.tokens.delete(TOKEN.token);
  await scene.pass(1_000);
  assert.deepEqual(other.found, [[TOKEN], []]);
});

test('the token of a TLS-ALPN-01 challenge has its name, and the newest is the last, as a crash may have left one for the same name', async () => {
  using scene = new Scene();
  const one = await scene.process('one');
  const old = { token: 'z', keyAuthorization: 'z.thumbprint', name: 'a.test' };
  const fresh = { token: 'a', keyAuthorization: 'a.thumbprint', name: 'a.test' };
  await one.tokens.put(old);
  await scene.pass(1_000);
  await one.tokens.put(fresh);
  const other = await scene.process('other');
  assert.deepEqual(other.found, [[old, fresh]]);
});

test('an instance that is alone, or whose peers have been silent for a while, does not wait', async () => {
  using scene = new Scene();
  const one = await scene.process('one');
  assert.equal(await isOver(one.tokens.put(TOKEN)), true);
  const other = await scene.process('other');
  assert.equal(await isOver(one.tokens.put({ ...TOKEN, token: 'token-2' })), false);
  other.tokens.stop();
  for (let seconds = 0; seconds <= 100; seconds += 10) await scene.pass(10_000);
  assert.equal(await isOver(one.tokens.put({ ...TOKEN, token: 'token-3' })), true);
});

test('a token left by a crash is answered by the next instance for an hour', async () => {
  using scene = new Scene();
  const one = await scene.process('one');
  await one.tokens.put(TOKEN);
  one.tokens.stop();
  const next = await scene.process('one');
  assert.deepEqual(next.found, [[TOKEN]]);
  await scene.pass(3_600_000);
  assert.deepEqual(next.found, [[TOKEN], []]);
  assert.deepEqual(readdirSync(join(scene.folder, '.challenges')), []);
});

test('what the server of a network file system puts into its folders disturbs neither a token nor those of others', async () => {
  using scene = new Scene();
  const one = await scene.process('one');
  await one.tokens.put({ ...TOKEN, token: 'token-0' });
  for (const folder of ['.instances', '.challenges']) mkdirSync(join(scene.folder, folder, '@eaDir'));
  const other = await scene.process('other');
  const put = one.tokens.put(TOKEN);
  assert.equal(await isOver(put), false);
  await scene.pass(1_000);
  await scene.pass(500);
  assert.equal(await isOver(put), true);
  assert.deepEqual(other.found.at(-1)?.at(-1), TOKEN);
});
