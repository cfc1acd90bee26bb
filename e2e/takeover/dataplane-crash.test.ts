import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { familyOf } from '../testing/pair.ts';
import { run, SLUICE } from '../testing/process.ts';
import { until } from '../testing/until.ts';
import { Upstream } from '../testing/upstream.ts';

const entry = [SLUICE, 'dataplane'];

describe('a standalone data plane', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path, entry });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('prints one line that names the first and exits with 2 if it is the second with the same state directory', async () => {
    await dataplane.route('site.test', '127.0.0.1:1', { respond: { status: 200, body: 'here' } });
    writeFileSync(folder.file('Sluicefile'), 'site.test {\n  respond "here"\n}\n');
    const { pid } = dataplane.program;
    const named = (command: string) =>
      new RegExp(
        `^sluice ${command}: ${folder.path} is in use: version \\S+ as process ${pid}, since 20\\S+Z; .*upgrade.*--state-dir PATH\\n$`,
      );
    const [serving] = familyOf(pid);
    for (const [command, ...more] of [['run', '--config', folder.file('Sluicefile')], ['dataplane']] as const) {
      const second = await run([command, ...more, '--state-dir', folder.path, '--http-port', '1', '--workers', '1']);
      assert.equal(second.code, 2, command);
      assert.match(second.stderr, named(command));
    }
    assert.equal((await dataplane.visit('site.test')).text, 'here');
    assert.deepEqual(familyOf(pid), [serving]);
  });

  test('that is killed or aborts is restarted with its routes', async () => {
    await using upstream = await Upstream.start('one');
    await dataplane.route('a.test', upstream.address);
    for (const signal of ['SIGKILL', 'SIGABRT'] as const) {
      const [pid = 0] = familyOf(dataplane.program.pid);
      process.kill(pid, signal);
      await until('another process', () => !familyOf(dataplane.program.pid).includes(pid));
      await until('it to serve', async () => (await dataplane.visit('a.test').catch(() => null))?.status === 200);
    }
    assert.match(dataplane.program.stdout, /"process":"parent",.*"code":137,.*"msg":"the process exited and is being restarted"/);
  });

  // The last: it ends the data plane.
  test('exits with 0 on SIGTERM', async () => {
    assert.deepEqual(await dataplane.program.kill('SIGTERM'), { code: 0, signal: null });
  });
});

test('killing the parent leaves no process behind', async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.path, entry });
  const [pid = 0] = familyOf(dataplane.program.pid);
  dataplane.program.child.kill('SIGKILL');
  await until('its child to end', () => !isAlive(pid));
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
