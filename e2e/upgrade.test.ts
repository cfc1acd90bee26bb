import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { test } from 'node:test';
import { Dataplane, Folder } from './harness/dataplane.ts';
import { Pair } from './harness/pair.ts';
import { type Program, run } from './harness/process.ts';
import { until } from './harness/until.ts';
import { Upstream } from './harness/upstream.ts';

const HANDED_OVER = /^sluice \S+ \(process (\d+)\) handed over to sluice \S+ \(process (\d+)\)\nits log goes to .*upgraded\.log\n$/;

/** Ends a process that belongs to nobody any more, and waits until it is gone. */
async function end(pid: number): Promise<void> {
  process.kill(pid, 'SIGTERM');
  await until('the new process to end', () => !isAlive(pid), 10_000);
}

function isAlive(pid: number): boolean {
  try {
    // One that has ended and waits to be reaped is listed, too.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Its output stays open: the new process writes there too. */
async function exitOf({ child }: Program): Promise<number | null> {
  await until('the old process to end', () => child.exitCode !== null || child.signalCode !== null);
  return child.exitCode;
}

test('upgrade replaces a data plane by one with the same flags and environment, and the old one ends with 0', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  await using dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--drain-timeout', '3s'] });
  await dataplane.route('a.test', upstream.address);
  const upgraded = await run(['upgrade', '--state-dir', folder.path]);
  assert.equal(upgraded.code, 0, upgraded.stderr);
  const [, old, pid] = HANDED_OVER.exec(upgraded.stdout) ?? assert.fail(upgraded.stdout);
  try {
    assert.deepEqual([Number(old), await exitOf(dataplane.program)], [dataplane.program.pid, 0]);
    assert.match((await dataplane.visit('a.test')).text, /"name":"one"/);
    assert.match((await dataplane.admin('GET', '/routes')).text, /"a\.test"/);
    const timeout = JSON.parse((await dataplane.admin('GET', '/settings')).text).find(
      ({ name }: { name: string }) => name === 'drain_timeout',
    );
    assert.deepEqual(timeout, { name: 'drain_timeout', value: '3s', origin: 'flag' });
    await dataplane.route('b.test', upstream.address);
  } finally {
    await end(Number(pid));
  }
});

test('upgrade replaces both processes of run; the new controller follows the file; as JSON it tells the same', async () => {
  using folder = new Folder();
  const site = (text: string) => `site.test {\n  respond "${text}"\n}\n`;
  await using pair = await Pair.start(folder, site('{$GREETING}'), { env: { GREETING: 'hello' } });
  const upgraded = await run(['upgrade', '--state-dir', folder.file('state'), '--json']);
  assert.equal(upgraded.code, 0, upgraded.stderr);
  type End = { readonly version: string; readonly pid: number };
  const { old, new: successor, log } = JSON.parse(upgraded.stdout) as { old: End; new: End; log: string };
  try {
    assert.deepEqual([old.pid, await exitOf(pair.program)], [pair.program.pid, 0]);
    assert.deepEqual([old.version, log], [successor.version, folder.file('state/upgraded.log')]);
    assert.equal((await pair.visit('site.test')).text, 'hello');
    pair.write(site('again, {$GREETING}'));
    await until('the new controller to follow the file', async () => (await pair.visit('site.test')).text === 'again, hello');
    const status = await pair.command('status');
    assert.match(status.stdout, /^Nothing is wrong\./, status.stdout + status.stderr);
  } finally {
    await end(successor.pid);
  }
});

test('upgrade with nobody to replace is one line and exit 5', async () => {
  using folder = new Folder();
  const { code, stderr } = await run(['upgrade', '--state-dir', folder.path]);
  assert.equal(code, 5);
  assert.match(stderr, /^sluice upgrade: no running data plane to replace: .*takeover\.sock: nobody is there; .*--state-dir\n$/);
});

test('an upgrade whose new process can not start says why, and the old one goes on with what it had', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  await dataplane.route('a.test', upstream.address);
  // Secrets that can't be read are never made anew.
  rmSync(folder.file('keyring.json'));
  mkdirSync(folder.file('keyring.json'));
  const upgraded = await run(['upgrade', '--state-dir', folder.path]);
  assert.equal(upgraded.code, 1);
  assert.match(
    upgraded.stderr,
    /^sluice upgrade: the new process ended \(exit code 1\); .*upgraded\.log says why; the old one \(\S+, process \d+\) goes on\n$/,
  );
  assert.equal((await dataplane.visit('a.test')).status, 200);
  await dataplane.route('b.test', upstream.address);
  assert.equal((await dataplane.visit('b.test')).status, 200);
});
