import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { childrenOf, Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { Program, run, SLUICE } from '../testing/process.ts';

const SITE = 'site.test {\n  respond "here"\n}\n';

describe('the processes of run', () => {
  const folder = new Folder();
  let pair: Pair;
  let family: Awaited<ReturnType<typeof childrenOf>>;
  before(async () => {
    pair = await Pair.start(folder, '');
  });
  beforeEach(async () => {
    await pair.serve(SITE);
    family = await childrenOf(pair.program.pid);
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a killed controller is restarted, and no request fails meanwhile', async () => {
    process.kill(family.controller, 'SIGKILL');
    await until('another controller', async () => {
      assert.equal((await pair.visit('site.test')).text, 'here');
      const { controller } = await childrenOf(pair.program.pid);
      return controller !== 0 && controller !== family.controller;
    });
    pair.write('site.test {\n  respond "changed"\n}\n');
    await until('the new controller to apply a change', async () => (await pair.visit('site.test')).text === 'changed');
    assert.equal((await childrenOf(pair.program.pid)).dataplane, family.dataplane);
  });

  test('a killed data plane is restarted with its table, and gets a full frame', async () => {
    process.kill(family.dataplane, 'SIGKILL');
    await until('the site to be served again', async () => (await pair.visit('site.test')).text === 'here');
    pair.write('site.test {\n  respond "changed"\n}\n');
    await until('a change to reach the new data plane', async () => (await pair.visit('site.test')).text === 'changed');
    assert.equal((await childrenOf(pair.program.pid)).controller, family.controller);
  });

  test('a second data plane with the same state directory prints one line that names the first, and exits with 2', async () => {
    const state = folder.file('state');
    const named = (command: string) =>
      new RegExp(
        `^sluice ${command}: ${state} is in use: version \\S+ as process ${pair.program.pid}, since 20\\S+Z; .*upgrade.*--state-dir PATH\\n$`,
      );
    for (const [command, ...more] of [['run', '--config', folder.file('Sluicefile')], ['dataplane']] as const) {
      const second = await run([command, ...more, '--state-dir', state, '--http-port', '1', '--workers', '1']);
      assert.equal(second.code, 2, command);
      assert.match(second.stderr, named(command));
    }
    assert.equal((await pair.visit('site.test')).text, 'here');
    assert.equal((await childrenOf(pair.program.pid)).dataplane, family.dataplane);
  });

  // The last: it ends the pair.
  test('killing the parent ends its children and frees the ports', async () => {
    await pair.program.kill('SIGKILL');
    for (const pid of [family.dataplane, family.controller]) await until(`process ${pid} to end`, () => !isAlive(pid));
    await assert.rejects(pair.visit('site.test'), /ECONNREFUSED/);
  });
});

test('a data plane that is killed while another process takes over leaves to it, although its own flags say --takeover', async () => {
  using folder = new Folder();
  await using old = await Pair.start(folder, SITE, { flags: ['--takeover'] });
  const { dataplane } = await childrenOf(old.program.pid);
  const flags = ['--config', old.file, '--state-dir', folder.file('state'), '--workers', '1', '--listen', `127.0.0.1:${await freePort()}`];
  await using next = new Program(SLUICE, ['run', ...flags, '--admin-listen', `127.0.0.1:${await freePort()}`, '--takeover']);
  await old.program.said('another process takes over');
  process.kill(dataplane, 'SIGKILL');
  assert.deepEqual(await old.program.exited, { code: 0, signal: null }, old.program.output);
  assert.match(old.program.output, new RegExp(`not restarted: process ${next.pid} \\(version \\S+\\) has taken over`));
  assert.equal(next.exit, null);
  assert.equal((await old.visit('site.test')).text, 'here');
  assert.doesNotMatch(next.output, /another process takes over/);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
