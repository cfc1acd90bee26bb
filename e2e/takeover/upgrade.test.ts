import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { installIn } from '../testing/installation.ts';
import { childrenOf, familyOf, Pair } from '../testing/pair.ts';
import { DATAPLANE_ENTRY, Program, run, SLUICE } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

const HANDED_OVER = /^sluice \S+ \(process (\d+)\) handed over to sluice \S+ \(process (\d+)\)\n$/;

/** The child processes of the parent, once only one of them serves. */
const alone = ({ pid }: Program): Promise<number> =>
  until('the old process to end', () => {
    const [one, ...more] = familyOf(pid);
    return more.length === 0 ? one : undefined;
  });

describe('a data plane with a parent', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--drain-timeout', '3s'], entry: [SLUICE, 'dataplane'] });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('an upgrade whose new process cannot start reports why, and the old one continues unchanged', async () => {
    await using upstream = await Upstream.start('one');
    await dataplane.route('a.test', upstream.address);
    // Unreadable secrets are never replaced.
    renameSync(folder.file('keyring.json'), folder.file('keyring'));
    mkdirSync(folder.file('keyring.json'));
    const upgraded = await run(['upgrade', '--state-dir', folder.path]);
    assert.equal(upgraded.code, 1);
    assert.match(upgraded.stderr, /^sluice upgrade: the new process ended \(exit code \d+\): .*EISDIR.*\n$/);
    assert.equal((await dataplane.visit('a.test')).status, 200);
    await dataplane.route('b.test', upstream.address);
    assert.equal((await dataplane.visit('b.test')).status, 200);
    rmdirSync(folder.file('keyring.json'));
    renameSync(folder.file('keyring'), folder.file('keyring.json'));
  });

  // The last: it ends the data plane.
  test('two consecutive upgrades replace the serving process with the same flags and environment, under the same parent', async () => {
    await using upstream = await Upstream.start('one');
    await dataplane.route('a.test', upstream.address);
    const first = await alone(dataplane.program);
    const pids = [first];
    for (let upgrades = 0; upgrades < 2; upgrades++) {
      const upgraded = await run(['upgrade', '--state-dir', folder.path]);
      assert.equal(upgraded.code, 0, upgraded.stderr);
      const [, old, pid] = HANDED_OVER.exec(upgraded.stdout) ?? assert.fail(upgraded.stdout);
      assert.equal(Number(old), pids.at(-1));
      assert.equal(await alone(dataplane.program), Number(pid));
      pids.push(Number(pid));
      assert.match((await dataplane.visit('a.test')).text, /"name":"one"/);
      assert.match((await dataplane.admin('GET', '/routes')).text, /"a\.test"/);
    }
    assert.equal(new Set(pids).size, 3);
    const settings = JSON.parse((await dataplane.admin('GET', '/settings')).text) as { name: string }[];
    assert.deepEqual(
      settings.find(({ name }) => name === 'drain_timeout'),
      { name: 'drain_timeout', value: '3s', origin: 'flag' },
    );
    await dataplane.route('b.test', upstream.address);
    assert.match(
      dataplane.program.stdout,
      /data plane started[\s\S]*data plane started/,
      'both processes write to the output of the service',
    );
    assert.deepEqual(await dataplane.program.kill('SIGTERM'), { code: 0, signal: null });
  });
});

test('upgrade replaces both processes of run, the new controller watches the file, and --json reports the same', async () => {
  using folder = new Folder();
  const site = (text: string) => `site.test {\n  respond "${text}"\n}\n`;
  await using pair = await Pair.start(folder, site('{$GREETING}'), { env: { GREETING: 'hello' } });
  const before = await childrenOf(pair.program.pid);
  const upgraded = await run(['upgrade', '--state-dir', folder.file('state'), '--json']);
  assert.equal(upgraded.code, 0, upgraded.stderr);
  type End = { readonly version: string; readonly pid: number };
  const { old, new: successor } = JSON.parse(upgraded.stdout) as { old: End; new: End };
  assert.deepEqual([old.version, old.pid], [successor.version, before.dataplane]);
  await until('the old ones to end', () => !familyOf(pair.program.pid).some((pid) => Object.values(before).includes(pid)));
  assert.equal((await childrenOf(pair.program.pid)).dataplane, successor.pid);
  assert.equal((await pair.visit('site.test')).text, 'hello');
  pair.write(site('again, {$GREETING}'));
  await until('the new controller to follow the file', async () => (await pair.visit('site.test')).text === 'again, hello');
  const status = await pair.command('status');
  assert.match(status.stdout, /^Nothing is wrong\./, status.stdout + status.stderr);
});

test('upgrade without a running data plane prints one line and exits with 5', async () => {
  using folder = new Folder();
  const { code, stderr } = await run(['upgrade', '--state-dir', folder.path]);
  assert.equal(code, 5);
  assert.match(stderr, /^sluice upgrade: no running data plane to replace: .*takeover\.sock: nothing is listening; .*--state-dir\n$/);
});

test('a process without a parent explains how to replace it', async () => {
  using folder = new Folder();
  await using dataplane = await Dataplane.start({ stateDir: folder.path });
  const { code, stderr } = await run(['upgrade', '--state-dir', folder.path]);
  assert.equal(code, 1);
  assert.match(stderr, /^sluice upgrade: it has no parent process to start a successor; .*--takeover\n$/);
  assert.equal(dataplane.program.exit, null);
});

test('with a different version installed in the same place, status names both, a broken one changes nothing, and a good one takes over', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('one');
  const place = folder.file('sluice');
  installIn(place);
  const dataplaneAt = `${place}/sluice`;
  const flags = ['--admin-socket', folder.file('admin.sock')];
  await using dataplane = await Dataplane.start({ stateDir: folder.file('state'), entry: [dataplaneAt, 'dataplane'], flags });
  await dataplane.route('a.test', upstream.address);
  const first = await alone(dataplane.program);
  const status = async () => (await run(['status', '--admin', `unix:${folder.file('admin.sock')}`])).stdout;
  const { version } = JSON.parse(readFileSync(`${place}/package.json`, 'utf8')) as { version: string };
  assert.match(await status(), new RegExp(`^version +${version.replaceAll('.', '\\.')}$`, 'm'));

  const upgrade = () => new Program(dataplaneAt, ['upgrade', '--state-dir', folder.file('state')]);
  const main = `${place}/${DATAPLANE_ENTRY}`;
  const good = readFileSync(main, 'utf8');
  writeFileSync(
    `${place}/package.json`,
    readFileSync(`${place}/package.json`, 'utf8').replace(`"version": "${version}"`, '"version": "99.0.0"'),
  );
  // The sources are modules, and what is built is not.
  writeFileSync(main, `${main.endsWith('.ts') ? "import './gone.ts'" : "require('./gone.ts')"};\n${good}`);
  assert.match(
    await status(),
    new RegExp(`^version +${version.replaceAll('.', '\\.')} is running, 99\\.0\\.0 is installed: run sluice upgrade$`, 'm'),
  );
  await using broken = upgrade();
  assert.equal((await broken.exited).code, 1);
  assert.match(broken.stderr, /^sluice upgrade: the new process ended \(exit code 1\): .*Cannot find module '.*gone\.ts'.*\n$/);
  assert.equal(await alone(dataplane.program), first);

  writeFileSync(main, good);
  await using upgraded = upgrade();
  assert.equal((await upgraded.exited).code, 0, upgraded.stderr);
  assert.match(upgraded.stdout, /handed over to sluice 99\.0\.0 /);
  assert.match(await status(), /^version +99\.0\.0$/m);
  assert.equal((await dataplane.visit('a.test')).status, 200);
  assert.ok(existsSync(folder.file('state/takeover.sock')));
});
