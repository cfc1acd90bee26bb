import assert from 'node:assert/strict';
import { existsSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { runningInstance } from '../../shared/runtime/process/running-instance.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { visit } from '../testing/http.ts';
import { familyOf } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { DATAPLANE, Program, SLUICE } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const entry = [SLUICE, 'dataplane'];

test('a standalone data plane that is killed or aborts is restarted with its routes', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  await using dataplane = await Dataplane.start({ stateDir: folder.path, entry });
  await dataplane.route('a.test', upstream.address);
  for (const signal of ['SIGKILL', 'SIGABRT'] as const) {
    const [pid = 0] = familyOf(dataplane.program.pid);
    process.kill(pid, signal);
    await until('another process', () => !familyOf(dataplane.program.pid).includes(pid));
    await until('it to serve', async () => (await dataplane.visit('a.test').catch(() => null))?.status === 200);
  }
  assert.match(dataplane.program.stdout, /"process":"parent",.*"code":137,.*"msg":"the process exited and is being restarted"/);
  assert.deepEqual(await dataplane.program.kill('SIGTERM'), { code: 0, signal: null });
});

test('a data plane that is killed is restarted although the disk is full that the output goes to', async () => {
  using folder = new Folder();
  const command = ['sh', '-c', 'exec "$0" "$@" > /dev/full 2>&1'];
  await using dataplane = await Dataplane.start({ stateDir: folder.path, entry, command });
  await until('it to have started', () => runningInstance(folder.path));
  const [pid = 0] = familyOf(dataplane.program.pid);
  process.kill(pid, 'SIGKILL');
  const gone = () => dataplane.program.exit !== null;
  await until('another process', () => gone() || !familyOf(dataplane.program.pid).includes(pid));
  await until('it to serve', async () => gone() || (await dataplane.visit('a.test').catch(() => null))?.status === 404);
  assert.equal(dataplane.program.exit, null);
});

/** Starts a data plane each of whose workers first runs this code. */
async function hindered(folder: Folder, httpPort: number, workers: number, code: string, more: readonly string[] = []): Promise<Program> {
  const whole = `import fs from 'node:fs'; import { workerData } from 'node:worker_threads'; if (workerData?.worker > 0) { ${code} }`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(whole)}` };
  const [node, ...rest] = DATAPLANE;
  const flags = ['--http-port', `${httpPort}`, '--admin-listen', `127.0.0.1:${await freePort()}`, '--state-dir', folder.path];
  return new Program(node, [...rest, ...flags, ...more, '--workers', `${workers}`], env);
}

test('a data plane whose workers can’t start goes on trying', async () => {
  using folder = new Folder();
  const obstacle = folder.file('obstacle');
  writeFileSync(obstacle, '');
  await using program = await hindered(
    folder,
    await freePort(),
    1,
    `if (fs.existsSync(${JSON.stringify(obstacle)})) throw new Error('an obstacle');`,
  );
  await program.said(/(an obstacle.*){4}/s);
  rmSync(obstacle);
  await program.said('data plane started');
});

test('a data plane of which only some workers can start ends when it is told to, without waiting for the others', async () => {
  using folder = new Folder();
  const port = await freePort();
  await using program = await hindered(folder, port, 2, "if (workerData.worker > 1) throw new Error('an obstacle');");
  await until('the first worker to serve', async () => (await visit(port, 'a.test').catch(() => null))?.status === 404);
  await program.said(/(worker died.*){6}/s);
  const deaths = () => program.output.split('worker died').length;
  const before = deaths();
  assert.deepEqual(await program.kill('SIGTERM'), { code: 0, signal: null });
  assert.match(program.output, /draining/);
  // As long as it waits for the other worker, it starts that one again, now every few seconds.
  assert.ok(deaths() - before <= 2, program.output);
});

test('a data plane whose system permits no more threads goes on serving, and starts them once it does', async () => {
  using folder = new Folder();
  const obstacle = folder.file('obstacle');
  writeFileSync(obstacle, '');
  // What the library does then, here for all threads but those that serve requests.
  const code = `import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; import threads from 'node:worker_threads';
    threads.Worker = class extends threads.Worker {
      constructor(entry, options) {
        if (!/worker\\.[jt]s$/.test(entry) && fs.existsSync(${JSON.stringify(obstacle)})) throw Object.assign(new Error('EAGAIN'), { code: 'ERR_WORKER_INIT_FAILED' });
        super(entry, options);
      }
    };
    syncBuiltinESMExports();`;
  const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
  await using dataplane = await Dataplane.start({ stateDir: folder.path, env });
  // It is started a few seconds after the process.
  await dataplane.program.said('the history thread failed');
  assert.equal((await dataplane.visit('a.test')).status, 404);
  const history = () => dataplane.admin('GET', '/analytics/a.test/history');
  assert.match((await history()).text, /the history thread (is being restarted|has ended)/);
  rmSync(obstacle);
  await until('the history', async () => (await history()).status === 404);
  assert.deepEqual(await dataplane.program.kill('SIGTERM'), { code: 0, signal: null });
});

test('a log that is renamed while only some workers have started is reopened once all have', async () => {
  using folder = new Folder();
  const [port, log, obstacle] = [await freePort(), folder.file('access.log'), folder.file('obstacle')];
  writeFileSync(obstacle, '');
  const code = `if (workerData.worker > 1 && fs.existsSync(${JSON.stringify(obstacle)})) throw new Error('an obstacle');`;
  const state = folder.file('state');
  {
    await using before = await Dataplane.start({ stateDir: state });
    const route = { domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'hello' } };
    assert.equal((await before.admin('POST', '/routes', route)).status, 201);
  }
  await using program = await hindered(folder, port, 2, code, ['--access-log', log, '--state-dir', state]);
  await until('a line of the log', async () => {
    await visit(port, 'a.test').catch(() => null);
    return existsSync(log) && statSync(log).size > 0;
  });
  renameSync(log, folder.file('old.log'));
  program.child.kill('SIGUSR2');
  rmSync(obstacle);
  await program.said('data plane started');
  await until('a new log', async () => (await visit(port, 'a.test')).status === 200 && existsSync(log));
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
