import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { Pair } from '../testing/pair.ts';
import { freePort, usedBy } from '../testing/ports.ts';
import { run } from '../testing/process.ts';

const oneLine = (text: string): boolean => text.trim().split('\n').length === 1;

test('a wrongly used command prints one line with its name on stderr, and exits with 2', async () => {
  using folder = new Folder();
  const state = ['--state-dir', folder.file('state')];
  const cases: [args: string[], names: RegExp][] = [
    [['runn'], /unknown command runn.*did you mean run/],
    [['dataplane', '--htp-port', '1'], /unknown flag --htp-port.*did you mean --http-port/],
    [['dataplane', '--http-port'], /--http-port needs a value/],
    [['dataplane', '--http-port', '0', ...state], /--http-port "0".*1 to 65535/],
    [['dataplane', '--geoip', 'x', ...state], /--geoip is not available yet/],
    [['dataplane', '--state-dir', '/proc/none'], /\/proc\/none.*--state-dir/],
    [['run', '--confg', 'x'], /unknown flag --confg.*did you mean --config/],
    [['run', '--config', folder.file('none')], /none does not exist/],
    [['controller', '--config', folder.file('none')], /none does not exist/],
    [['fmt', '--config', 'x'], /x does not exist/],
    [['routes', '--admin', 'nonsense'], /HOST:PORT or unix:PATH/],
  ];
  for (const [args, names] of cases) {
    const { code, stderr } = await run(args, {}, folder.path);
    assert.equal(code, 2, `${args.join(' ')}: ${stderr}`);
    assert.match(stderr, names);
    assert.ok(oneLine(stderr), stderr);
  }
});

test('a mistyped flag of the controller is recognized although run finds its config file without it', async () => {
  using folder = new Folder();
  writeFileSync(folder.file('Sluicefile'), 'a.example {\n  respond 200\n}\n');
  const { code, stderr } = await run(['run', '--confg', 'x', '--state-dir', folder.file('state')], {}, folder.path);
  assert.deepEqual([code, stderr], [2, 'sluice run: unknown flag --confg (did you mean --config?)\n']);
});

test('validate prints "Config valid.", or all errors at once with their positions', async () => {
  using folder = new Folder();
  const file = folder.file('Sluicefile');
  writeFileSync(file, 'a.test {\n  respond "x"\n}\n');
  const good = await run(['validate', '--config', file]);
  assert.deepEqual([good.code, good.stdout], [0, 'Config valid.\n']);
  writeFileSync(file, 'a.test {\n  revers_proxy localhost:1\n  rate_limit 5\n}\n');
  const bad = await run(['validate', '--config', file]);
  assert.equal(bad.code, 1);
  assert.match(bad.stderr, new RegExp(`^${file}:2:3: .*did you mean "reverse_proxy"`, 'm'));
  assert.match(bad.stderr, new RegExp(`^${file}:3:14: .*<n>/s`, 'm'));
});

test('run on a port in use ends both processes with 2 and one line that names the flag', async (t) => {
  using folder = new Folder();
  const taken = createServer();
  t.after(() => taken.close());
  const port = await new Promise<number>((resolve) => taken.listen(0, '127.0.0.1', () => resolve((taken.address() as AddressInfo).port)));
  writeFileSync(folder.file('Sluicefile'), '{\n  bind 127.0.0.1\n}\na.test {\n  respond "x"\n}\n');
  for (const [flag, value] of [
    ['--http-port', `${port}`],
    ['--admin-listen', `127.0.0.1:${port}`],
    ['--listen', `127.0.0.1:${port}`],
  ] as const) {
    const others = {
      SLUICE_HTTP_PORT: `${await freePort()}`,
      SLUICE_ADMIN_LISTEN: `127.0.0.1:${await freePort()}`,
      SLUICE_LISTEN: `127.0.0.1:${await freePort()}`,
    };
    const { code, stderr } = await run(['run', '--state-dir', './state', flag, value], others, folder.path);
    assert.equal(code, 2, `${flag}: ${stderr}`);
    assert.match(stderr, new RegExp(`^sluice run: can(?:'|no)t listen on \\S*${port}: the address is already in use.*; .*${flag}`));
    assert.ok(stderr.includes(`in use${usedBy(process.pid)}; `), stderr);
    assert.ok(oneLine(stderr), stderr);
  }
});

test('a state directory that cannot be written exits with 2 and names the flag', async (context) => {
  if (process.getuid?.() === 0) {
    using folder = new Folder();
    writeFileSync(folder.file('plain'), '');
    const { code, stderr } = await run(['dataplane', '--state-dir', folder.file('plain/inside')]);
    assert.deepEqual([code, /--state-dir/.test(stderr)], [2, true]);
    return;
  }
  using folder = new Folder();
  mkdirSync(folder.file('closed'));
  chmodSync(folder.file('closed'), 0o500);
  const { code, stderr } = await run(['dataplane', '--state-dir', folder.file('closed')]);
  assert.deepEqual([code, /--state-dir/.test(stderr)], [2, true]);
  context.diagnostic('as an ordinary user');
});

describe('beside a data plane', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.file('state') });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a port in use, even by another data plane, exits with 2 and names the flag for another port', async () => {
    const port = await freePort();
    const other = createServer().listen(port, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const args = [
      'dataplane',
      '--bind',
      '127.0.0.1',
      '--http-port',
      `${port}`,
      '--admin-listen',
      `127.0.0.1:${await freePort()}`,
      '--state-dir',
    ];
    const taken = await run([...args, folder.file('a')]);
    assert.equal(taken.code, 2);
    assert.match(taken.stderr, /the address is already in use.*--http-port/);
    other.close();
    const second = await run([
      'dataplane',
      '--bind',
      '127.0.0.1',
      '--http-port',
      `${dataplane.httpPort}`,
      '--admin-listen',
      `127.0.0.1:${await freePort()}`,
      '--state-dir',
      folder.file('c'),
    ]);
    assert.deepEqual([second.code, /the address is already in use/.test(second.stderr)], [2, true]);
    const admin = await run([
      'dataplane',
      '--bind',
      '127.0.0.1',
      '--http-port',
      `${await freePort()}`,
      '--admin-listen',
      `127.0.0.1:${dataplane.adminPort}`,
      '--state-dir',
      folder.file('d'),
    ]);
    assert.match(admin.stderr, /--admin-listen/);
  });

  test('an Admin API that is unreachable or rejects the token exits with 5, the address and the reason', async () => {
    const port = await freePort();
    for (const command of ['routes', 'status', 'reload', 'explain']) {
      const { code, stderr } = await run([command, ...(command === 'explain' ? ['a.test'] : []), '--admin', `127.0.0.1:${port}`]);
      assert.equal(code, 5, command);
      assert.match(stderr, new RegExp(`127\\.0\\.0\\.1:${port}.*refused`));
    }
    const wrong = await run(['routes', '--admin', `127.0.0.1:${dataplane.adminPort}`], { SLUICE_ADMIN_TOKEN: 'wrong' });
    assert.equal(wrong.code, 5);
    assert.match(wrong.stderr, /unauthorized/);
    assert.doesNotMatch(dataplane.program.output, /a-token-for-tests/);
  });
});

test('routes, explain, status and reload print what is running as text and as JSON', async () => {
  using folder = new Folder();
  await using pair = await Pair.start(folder, 'a.test {\n  reverse_proxy 127.0.0.1:9\n  handle /fixed {\n    respond "x"\n  }\n}\n');
  const routes = await pair.command('routes');
  assert.equal(routes.code, 0);
  assert.match(routes.stdout, /a\.test .*file .*Sluicefile:5/);
  const [route] = JSON.parse((await pair.command('routes', '--json')).stdout) as { domain: string }[];
  assert.equal(route?.domain, 'a.test');
  const explained = await pair.command('explain', 'a.test/fixed');
  assert.equal(explained.code, 0);
  assert.match(explained.stdout, /respond/);
  const unrouted = await pair.command('explain', 'b.test');
  assert.equal(unrouted.code, 1);
  assert.match(unrouted.stdout + unrouted.stderr, /no route for b\.test/);
  assert.match((await pair.command('status')).stdout, /^Nothing is wrong\./);
  const reload = await pair.command('reload');
  assert.equal(reload.code, 0);
  assert.match(reload.stdout, /^Nothing changed: /);
  const again = await pair.command('reload');
  assert.equal(again.code, 4);
  assert.match(again.stderr, /too soon/);
  const settings = JSON.parse((await pair.admin('/settings')).text) as { name: string; value: unknown; origin: string }[];
  assert.deepEqual(
    settings.find(({ name }) => name === 'http_port'),
    { name: 'http_port', value: pair.httpPort, origin: 'file' },
  );
  assert.deepEqual(
    settings.find(({ name }) => name === 'workers'),
    { name: 'workers', value: 2, origin: 'flag' },
  );
});
