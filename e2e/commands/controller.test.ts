import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FakeDataplane } from '../../controller/push/testing/fake-dataplane.ts';
import type { AdminAddress } from '../../shared/api/admin-address.ts';
import { formatAdminAddress } from '../../shared/api/admin-address.ts';

/** What `npm test` has built, which starts with half the CPU time; the sources if this file is run alone. */
const { TESTED_BUILD } = process.env;
const MAIN =
  TESTED_BUILD === undefined
    ? fileURLToPath(new URL('../../controller/main.ts', import.meta.url))
    : join(TESTED_BUILD, 'dist/controller/main.js');
const site = (domain: string, port = 9_000) => `${domain} {\n  reverse_proxy 127.0.0.1:${port}\n}\n`;
const BROKEN = 'a.example {\n  revers_proxy x\n}\n';

/** A controller process with a config file and a data plane of the test. */
async function started(t: TestContext, content: string, env: Record<string, string> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'controller-'));
  const dataplane = new FakeDataplane();
  const address: AdminAddress = await dataplane.listen(join(directory, 'a.sock'));
  const config = join(directory, 'Sluicefile');
  writeFileSync(config, content);
  const argv = [MAIN, '--config', config, '--dataplane', formatAdminAddress(address), '--listen', '127.0.0.1:0'];
  const child = spawn(process.execPath, argv, { env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'] });
  const exit = once(child, 'exit');
  const lines: { msg: string; status?: string }[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line) as { msg: string; status?: string }));
    child.emit('line');
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await exit;
    await dataplane.close();
    rmSync(directory, { recursive: true });
  });
  const logged = async (message: string) => {
    for (;;) {
      const line = lines.find(({ msg }) => msg === message);
      if (line) return line;
      await once(child, 'line');
    }
  };
  const page = async (path: string) => fetch(`http://${(await logged('controller started')).status}${path}`);
  const save = (next: string) => {
    writeFileSync(`${config}.new`, next);
    renameSync(`${config}.new`, config);
  };
  return { child, exit, dataplane, logged, page, save };
}

const domainsOf = (frame: { routes: { domain: string }[] }) => frame.routes.map(({ domain }) => domain);

test("sends the file's sites to the data plane, and every saved change", async (t) => {
  const { dataplane, page, save } = await started(t, site('a.example'));
  const first = await dataplane.frame(0);
  assert.deepEqual([domainsOf(first), first.apply.controller, first.apply.reload], [['a.example'], 'controller', true]);
  assert.match(first.routes[0]?.origin ?? '', /Sluicefile:1$/);
  let revision = first.apply.revision;
  for (const [at, domain] of ['b.example', 'c.example', 'd.example'].entries()) {
    save(site('a.example') + site(domain));
    const next = await dataplane.frame(at + 1);
    assert.deepEqual([domainsOf(next), next.apply.based_on], [[domain], revision]);
    revision = next.apply.revision;
  }
  assert.equal((await page('/ready')).status, 200);
});

test('a file with errors at the start pushes no routes and logs the errors', async (t) => {
  const { dataplane, page, save } = await started(t, BROKEN);
  const first = await dataplane.frame(0);
  assert.deepEqual([first.apply.sources, first.routes], [[], []]);
  const second = await dataplane.frame(1);
  assert.match(second.problems[0]?.message ?? '', /Sluicefile:2:3: .*revers_proxy/);
  assert.equal((await page('/ready')).status, 503);
  save(site('a.example'));
  const third = await dataplane.frame(2);
  assert.deepEqual([third.apply.based_on, third.apply.sources, domainsOf(third), third.problems], [null, ['file'], ['a.example'], []]);
});

test('a saved error changes no routes, and a reload returns the error', async (t) => {
  const { dataplane, save } = await started(t, site('a.example'));
  await dataplane.frame(0);
  save(BROKEN);
  const second = await dataplane.frame(1);
  assert.deepEqual([second.routes, second.removes, second.problems.length], [[], [], 1]);
  dataplane.send({ reload: { id: 'r1' } });
  const third = await dataplane.frame(2);
  assert.deepEqual([third.reload?.id, third.reload?.errors.length, third.routes, third.removes], ['r1', 1, [], []]);
});

test('a requested reload is answered with its id', async (t) => {
  const { dataplane } = await started(t, site('a.example'));
  await dataplane.frame(0);
  dataplane.send({ reload: { id: 'r2' } });
  assert.deepEqual((await dataplane.frame(1)).reload, { id: 'r2', errors: [] });
});

test('SIGHUP reloads', async (t) => {
  const { child, dataplane, logged, save } = await started(t, site('a.example'));
  await dataplane.frame(0);
  save(BROKEN);
  child.kill('SIGHUP');
  await logged('the reload failed; the previous configuration stays in effect');
});

test('a newer controller with the same name has a higher epoch', async (t) => {
  const one = await started(t, site('a.example'));
  const first = await one.dataplane.frame(0);
  const other = await started(t, site('a.example'));
  assert.ok((await other.dataplane.frame(0)).apply.epoch > first.apply.epoch);
});

test('SIGTERM ends the controller with exit code 0', async (t) => {
  const { child, exit, dataplane } = await started(t, site('a.example'));
  await dataplane.frame(0);
  child.kill('SIGTERM');
  assert.deepEqual(await exit, [0, null]);
});

test('a supervised controller exits when its supervisor is gone', async (t) => {
  const { child, exit, dataplane } = await started(t, site('a.example'), { SLUICE_SUPERVISED: '1' });
  await dataplane.frame(0);
  child.stdin.end();
  assert.deepEqual(await exit, [0, null]);
});

test('without a supervisor the end of stdin has no effect', async (t) => {
  const { child, dataplane, save } = await started(t, site('a.example'));
  await dataplane.frame(0);
  child.stdin.end();
  save(site('b.example'));
  assert.deepEqual(domainsOf(await dataplane.frame(1)), ['b.example']);
  assert.equal(child.exitCode, null);
});

test('a restarted data plane receives the complete state', async (t) => {
  const { dataplane } = await started(t, site('a.example'));
  await dataplane.frame(0);
  dataplane.instance = 'two';
  dataplane.cut();
  const second = await dataplane.frame(1);
  assert.deepEqual([second.apply.based_on, domainsOf(second)], [null, ['a.example']]);
});

test('the removal of most sites waits for a second reading to confirm it, or for a reload', async (t) => {
  const many = Array.from({ length: 12 }, (_, at) => site(`s${at}.example`)).join('');
  const { dataplane, save } = await started(t, many);
  await dataplane.frame(0);
  save(site('new.example'));
  const second = await dataplane.frame(1);
  assert.deepEqual([domainsOf(second), second.removes, second.problems[0]?.code], [['new.example'], [], 'removal_held']);
  dataplane.send({ reload: { id: 'r' } });
  const third = await dataplane.frame(2);
  assert.deepEqual([third.removes.length, third.reload?.id, third.problems], [12, 'r', []]);
});
