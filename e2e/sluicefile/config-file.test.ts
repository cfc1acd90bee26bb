import assert from 'node:assert/strict';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';

const site = (word: string) => `site.test {\n  respond "${word}"\n}\n`;

describe('the config file', () => {
  const folder = new Folder();
  let pair: Pair;
  before(async () => {
    pair = await Pair.start(folder, site('first'));
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('the file is served, and a saved change takes effect within two seconds', async () => {
    assert.equal((await pair.visit('site.test')).text, 'first');
    pair.write(site('second'));
    await until('the change to be served', async () => (await pair.visit('site.test')).text === 'second');
  });

  test('a bad file keeps the last good one in effect, and status reports the reason', async () => {
    await pair.serve(site('good'));
    pair.write('site.test {\n  respnd "bad"\n}\n');
    // The controller's own status page is not rate-limited.
    await until('the controller to see the error', async () => (await pair.controller('/status')).text.includes('respnd'));
    await until('it to reach the data plane', async () => (await pair.admin('/status')).text.includes('respnd'));
    assert.match((await pair.command('status')).stdout, /Sluicefile:\d+:3: .*respnd/);
    assert.equal((await pair.visit('site.test')).text, 'good');
    const reload = await pair.command('reload');
    assert.equal(reload.code, 1);
    assert.match(reload.stderr, /respnd.*did you mean "respond"/s);
    pair.write(site('better'));
    await until('the fixed file to be served', async () => (await pair.visit('site.test')).text === 'better');
    assert.match((await pair.command('status')).stdout, /^Nothing is wrong\./);
  });

  test('a route of the file that is deleted manually is restored within a second', async () => {
    await pair.serve(site('kept'));
    assert.equal((await pair.admin('/routes/site.test', { method: 'DELETE' })).status, 200);
    await until('the route to be back', async () => (await pair.visit('site.test')).text === 'kept');
  });

  test('a manually posted route overrides the file until it is deleted', async () => {
    await pair.serve(site('from the file'));
    const body = JSON.stringify({ domain: 'site.test', upstream: '127.0.0.1:1', tls: false, respond: { status: 200, body: 'manual' } });
    assert.equal((await pair.admin('/routes', { method: 'POST', body })).status, 201);
    assert.equal((await pair.visit('site.test')).text, 'manual');
    const routes = JSON.parse((await pair.command('routes', '--json')).stdout) as {
      domain: string;
      overrides: { respond: { body: string } } | null;
    }[];
    assert.equal(routes.find(({ domain }) => domain === 'site.test')?.overrides?.respond.body, 'from the file');
    await pair.serve(site('from the newer file'));
    assert.match((await pair.admin('/routes?view=full')).text, /newer/);
    assert.equal((await pair.visit('site.test')).text, 'manual');
    assert.equal((await pair.admin('/routes/site.test', { method: 'DELETE' })).status, 200);
    assert.equal((await pair.visit('site.test')).text, 'from the newer file');
  });

  test('the file can be a symbolic link that is swapped, as git-sync and ConfigMaps do', async () => {
    await pair.serve(site('one'));
    const text = readFileSync(pair.file, 'utf8');
    writeFileSync(folder.file('two'), text.replace('"one"', '"two"'));
    rmSync(pair.file);
    symlinkSync(folder.file('two'), pair.file);
    await until('the other file to be served', async () => (await pair.visit('site.test')).text === 'two');
  });
});
