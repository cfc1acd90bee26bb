import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';

const GOOD = 'site.test {\n  respond "good"\n}\n';
const BAD = 'site.test {\n  respnd "bad"\n}\nnew.test {\n  respond "new"\n}\n';

/** What a pair's status and explain report about its file. */
async function saidOf(pair: Pair) {
  const [status, routed, unrouted] = await Promise.all([
    pair.command('status'),
    pair.command('explain', 'site.test'),
    pair.command('explain', 'new.test'),
  ]);
  return { status: status.stdout, routed: routed.stdout, unrouted: unrouted.stdout };
}

/** Waits until the controller has seen the error, on the controller's own status page, which is not rate-limited. */
const errorSeen = (pair: Pair) =>
  until('the controller to see the error', async () => (await pair.controller('/status')).text.includes('respnd'));

describe('a pair that serves a file', () => {
  const folder = new Folder();
  let probe: number;
  let pair: Pair;
  const start = async (sites: string) => {
    pair = await Pair.start(folder, sites, { flags: ['--probe-listen', `127.0.0.1:${probe}`] });
  };
  /** Waits for a metric about the file, at the probe port, whose requests are not limited. */
  const metric = (value: 0 | 1) =>
    until(`sluice_config_last_reload_successful to be ${value}`, async () =>
      (await ask({ port: probe }, '/metrics')).text.includes(`\nsluice_config_last_reload_successful ${value}\n`),
    );
  before(async () => {
    probe = await freePort();
    await start(GOOD);
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a bad file keeps the last good one in effect, even across a restart, and status, explain and metrics report it until it is fixed', async () => {
    await pair.serve(GOOD);
    await metric(1);
    pair.write(BAD);
    await metric(0);
    assert.equal((await pair.visit('site.test')).text, 'good');
    await pair.program.kill();
    await start(BAD);
    await metric(0);
    assert.equal((await pair.visit('site.test')).text, 'good');
    const bad = await saidOf(pair);
    assert.match(bad.status, /^! .*Sluicefile:6:3: .*respnd.*\n {2}.*the last good version is served\.$/m);
    assert.match(bad.routed, /the config file has had errors since .*: its last good version stays in effect\n.*respnd/);
    assert.match(bad.unrouted, /the config file has had errors since .*: sites that are new in it are not routed\n.*respnd/);
    pair.write(GOOD);
    await metric(1);
    const fixed = await saidOf(pair);
    assert.match(fixed.status, /^Nothing is wrong\./);
    assert.doesNotMatch(fixed.routed, /mistakes/);
  });

  test('SIGHUP reloads the file immediately: errors are logged as in a reload, and a held-back mass removal is applied', async () => {
    const many = Array.from({ length: 15 }, (_, n) => `s${n}.test {\n  respond "${n}"\n}\n`);
    await pair.serve(many.join(''));
    pair.write(BAD);
    await errorSeen(pair);
    pair.program.child.kill('SIGHUP');
    await pair.program.said('the reload failed');
    assert.equal((await pair.visit('s14.test')).text, '14');
    pair.write(many[0] ?? '');
    await until('the removal to be held', async () => (await pair.controller('/status')).text.includes('removal_held'));
    assert.equal((await pair.visit('s14.test')).text, '14');
    pair.program.child.kill('SIGHUP');
    await until('the removal to be confirmed', async () => (await pair.visit('s14.test')).status === 404);
  });
});

test('a first start with a bad file is not ready and has no routes until the file is fixed', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, BAD, { until: 503 });
  await errorSeen(pair);
  await until('the error to reach the data plane', async () => (await pair.admin('/status')).text.includes('respnd'));
  const ready = await pair.admin('/ready');
  assert.deepEqual(
    [ready.status, JSON.parse(ready.text).error],
    [503, 'nothing to serve: no table was saved, and the config file of a controller has errors'],
  );
  const status = await pair.command('status');
  assert.equal(status.code, 3);
  assert.match(status.stdout, /^! not ready: nothing to serve.*\n {2}Correct .*\n! .*respnd.*\n {2}.*nothing of it is served\.$/m);
  pair.write(GOOD);
  await until('the fixed file to be served', async () => (await pair.admin('/ready')).status === 200);
  const fixed = await pair.command('status');
  assert.deepEqual([fixed.code, fixed.stdout.split('\n')[0]], [0, 'Nothing is wrong.']);
});
