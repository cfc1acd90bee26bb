import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { StoreChange } from './cert-store.ts';
import { DirectoryStore } from './directory-store.ts';

/** Nothing is found because a minute is over. */
const clock: Clock = { ...systemClock, every: () => () => undefined };

test('files that come into a folder a while after it was made, or after those before them were removed, are used at once', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'slow-'));
  const store = new DirectoryStore(root, { clock, random: systemRandom, log: memoryLog() });
  t.after(async () => {
    await store.close();
    rmSync(root, { recursive: true });
  });
  const changes: StoreChange[] = [];
  let told: () => void = () => undefined;
  await store.list();
  store.watch((change) => {
    changes.push(change);
    told();
  });
  const next = async (): Promise<string> => {
    while (changes.length === 0) await new Promise<void>((resolve) => (told = resolve));
    const change = changes.shift() ?? assert.fail();
    return [...change.put.map(({ id }) => `${id} put`), ...change.removed.map((id) => `${id} removed`)].join();
  };
  const { certificate, privateKey } = await makePair(['a.test']);
  const place = (folder: string): void => {
    writeFileSync(join(root, folder, 'cert.pem'), certificate);
    writeFileSync(join(root, folder, 'key.pem'), privateKey);
  };
  mkdirSync(join(root, 'slow'));
  mkdirSync(join(root, 'quick'));
  place('quick');
  assert.equal(await next(), 'quick put', 'the other folder has been seen, too');
  place('slow');
  assert.equal(await next(), 'slow put');
  for (const file of ['cert.pem', 'key.pem']) rmSync(join(root, 'slow', file));
  assert.equal(await next(), 'slow removed');
  place('slow');
  assert.equal(await next(), 'slow put');
});
