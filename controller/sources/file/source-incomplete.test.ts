import assert from 'node:assert/strict';
import { unlinkSync, writeFileSync } from 'node:fs';
import { appendFile, mkdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../../../shared/runtime/clock.ts';
import { follow, site, temporary, withoutPolls } from './testing/file-source.ts';
import { steppedClock } from './testing/stepped-clock.ts';
import { REST_MS } from './watching/incomplete.ts';

/** Long enough for a version that does not wait (ms). */
const PAUSE_MS = 500;

/** A clock whose long times never end: what happens has not waited. */
const impatient: Clock = {
  ...withoutPolls,
  after: (ms, act) => (ms < REST_MS / 2 ? withoutPolls.after(ms, act) : () => undefined),
};

const FENCED = `a.example {\n  import rules\n  respond "a"\n}\n`;
const RULES = 'rate_limit 9/s\nrate_limit 90/m\n';

/** A running source for a file with two sites and an import, after its first snapshot. */
async function running(t: TestContext, clock: Clock = withoutPolls) {
  const directory = await temporary(t);
  const path = join(directory, 'Sluicefile');
  const rules = join(directory, 'rules');
  await writeFile(rules, RULES);
  await writeFile(path, FENCED + site('b'));
  const following = follow(t, path, clock);
  await following.next();
  return { directory, path, rules, ...following };
}

test('a file that is written with a pause between two sites loses none of them', async (t) => {
  const { path, next, rest } = await running(t, impatient);
  await writeFile(path, FENCED);
  await wait(PAUSE_MS);
  assert.deepEqual(rest(), []);
  await appendFile(path, site('b') + site('c'));
  assert.equal((await next()).gist, 'a.example b.example c.example');
});

test('nor does one that is deleted before it is written', async (t) => {
  const { path, next, rest } = await running(t, impatient);
  unlinkSync(path);
  writeFileSync(path, FENCED);
  await wait(PAUSE_MS);
  assert.deepEqual(rest(), []);
  await appendFile(path, site('b'));
  assert.equal((await next()).gist, 'a.example b.example');
});

test('each part that arrives gives the rest more time, also after one with an error', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { path, next, rest } = await running(t, clock);
  await writeFile(path, 'a.example {\n');
  assert.match((await next()).gist, /^failed: /);
  await writeFile(path, FENCED);
  await waitsFor(REST_MS);
  for (let part = 0; part < 3; part++) {
    pass(REST_MS * 0.6);
    await appendFile(path, `# ${part}\n`);
    await waitsFor(REST_MS);
  }
  assert.deepEqual(rest(), []);
  await appendFile(path, site('b'));
  assert.equal((await next()).gist, 'a.example b.example');
});

test('a site that is deleted is gone once nothing more has been written for a while', async (t) => {
  const { clock, pass, waitsFor } = steppedClock();
  const { path, next, rest } = await running(t, clock);
  await writeFile(path, FENCED);
  await waitsFor(REST_MS);
  assert.deepEqual(rest(), []);
  pass(REST_MS);
  assert.equal((await next()).gist, 'a.example');
});

test('a site does not lose the rules of an import that is written in place with a pause', async (t) => {
  const { rules, source, next, rest } = await running(t, impatient);
  await writeFile(rules, 'rate_limit 9/s\n');
  await wait(PAUSE_MS);
  assert.deepEqual(rest(), []);
  await appendFile(rules, 'rate_limit 90/m\nrate_limit 900/h\n');
  await next();
  const reloaded = await source.reload();
  assert.ok(reloaded.kind === 'listed');
  const [site] = reloaded.routes;
  assert.deepEqual([site?.rate_limit_rps, site?.rate_limits?.length], [9, 2]);
});

test('what has all its sites is applied at once, and so is an import that was written elsewhere and renamed', async (t) => {
  const { directory, path, rules, source, next } = await running(t, impatient);
  await writeFile(path, FENCED.replace('"a"', '404') + site('b'));
  assert.equal((await next()).gist, 'a.example b.example');
  await writeFile(join(directory, 'new'), 'tls off\n');
  await rename(join(directory, 'new'), rules);
  await next();
  assert.deepEqual(source.readings()[0]?.domains, ['a.example', 'b.example']);
});

test('files whose directory was replaced are complete', async (t) => {
  const directory = await temporary(t);
  for (const [name, text] of [['..one', site('a') + site('b')] as const, ['..two', site('b')] as const]) {
    await mkdir(join(directory, name));
    await writeFile(join(directory, name, 'Sluicefile'), text);
  }
  await symlink('..one', join(directory, '..data'));
  const { next } = follow(t, join(directory, '..data', 'Sluicefile'), impatient);
  assert.equal((await next()).gist, 'a.example b.example');
  await symlink('..two', join(directory, '..next'));
  await rename(join(directory, '..next'), join(directory, '..data'));
  assert.equal((await next()).gist, 'b.example');
});

test('a reload applies the file as it is', async (t) => {
  const { path, source, next } = await running(t, impatient);
  await writeFile(path, FENCED);
  await source.reload();
  assert.equal((await next()).gist, 'a.example');
});
