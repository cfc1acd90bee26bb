import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { familyOf, Pair } from '../testing/pair.ts';
import { Upstream } from '../testing/upstream.ts';

/** The first of the cores that this process may use. */
const core = (): string => /^Cpus_allowed_list:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';

test('on one core the data plane serves the saved routes before the controller starts', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('shop', (_, response) => response.end('hello'));
  const sites = `shop.test {\n  reverse_proxy ${upstream.address}\n}\n`;
  await (await Pair.start(folder, sites))[Symbol.asyncDispose]();
  await using pair = await Pair.start(folder, sites, { command: ['taskset', '--cpu-list', core()] });
  assert.equal((await pair.visit('shop.test')).text, 'hello');
  await pair.program.said('controller started');
  const { stdout } = pair.program;
  assert.ok(stdout.includes('"data plane started"'), stdout);
  assert.ok(stdout.indexOf('"data plane started"') < stdout.indexOf('"controller started"'), stdout);
});

test('on one core, V8 has one thread of its own in each process, since its threads compete with the one that answers requests', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, 'shop.test {\n  respond "hello"\n}\n', { command: ['taskset', '--cpu-list', core()] });
  for (const pid of [pair.program.pid, ...familyOf(pair.program.pid)]) {
    const threads = readdirSync(`/proc/${pid}/task`).map((task) => readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim());
    assert.equal(threads.filter((name) => name === 'node-V8Worker').length, 1, threads.join());
  }
});
