import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { childrenOf, Pair } from '../testing/pair.ts';
import { until } from '../testing/until.ts';

const SITE = 'site.test {\n  respond "here"\n}\n';

test('a killed controller is restarted, and no request fails meanwhile', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, SITE);
  const before = await childrenOf(pair.program.pid);
  process.kill(before.controller, 'SIGKILL');
  await until('another controller', async () => {
    assert.equal((await pair.visit('site.test')).text, 'here');
    const { controller } = await childrenOf(pair.program.pid);
    return controller !== 0 && controller !== before.controller;
  });
  pair.write('site.test {\n  respond "changed"\n}\n');
  await until('the new controller to apply a change', async () => (await pair.visit('site.test')).text === 'changed');
  assert.equal((await childrenOf(pair.program.pid)).dataplane, before.dataplane);
});

test('a killed data plane is restarted with its table, and gets a full frame', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, SITE);
  const before = await childrenOf(pair.program.pid);
  process.kill(before.dataplane, 'SIGKILL');
  await until('the site to be served again', async () => (await pair.visit('site.test')).text === 'here');
  pair.write('site.test {\n  respond "changed"\n}\n');
  await until('a change to reach the new data plane', async () => (await pair.visit('site.test')).text === 'changed');
  assert.equal((await childrenOf(pair.program.pid)).controller, before.controller);
});

test('killing the parent ends its children and frees the ports', async () => {
  using folder = new Folder();
  const pair = await Pair.start(folder, SITE);
  const { dataplane, controller } = await childrenOf(pair.program.pid);
  await pair.program.kill('SIGKILL');
  for (const pid of [dataplane, controller]) await until(`process ${pid} to end`, () => !isAlive(pid));
  await assert.rejects(pair.visit('site.test'), /ECONNREFUSED/);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
