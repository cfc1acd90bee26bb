import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
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
