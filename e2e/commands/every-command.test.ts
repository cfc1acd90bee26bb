import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { admin, LAUNCHER, sluice, temporary } from '../../controller/cli/testing/run-command.ts';
import { sampleRoute } from '../../controller/desired/testing/sample-listing.ts';

const FULL = {
  ...sampleRoute('a.example', '10.0.0.1:80', { rate_limit_rps: 5 }),
  controller: 'controller',
  overrides: null,
  since: '2026-01-01T00:00:00.000Z',
};
const STATUS = {
  instance: 'i',
  version: '0.1.0',
  ready: true,
  reason: null,
  uptime_secs: 3_725,
  generation: 3,
  routes: 1,
  overridden: 0,
  workers: { configured: 2, serving: 2, restarts: 0 },
  controllers: [],
  problems: [],
  last_reload: null,
  warnings: [],
  upstreams: { count: 0, healthy: 0, out: [] },
};

test('without a command prints the list of commands', async () => {
  const { code, out } = await sluice([]);
  assert.equal(code, 0);
  for (const name of ['run', 'dataplane', 'controller', 'validate', 'reload', 'routes', 'explain', 'status', 'version'])
    assert.match(out, new RegExp(`^  ${name} `, 'm'));
});

test('an unknown command is exit 2 and one line with a suggestion', async () => {
  assert.deepEqual(await sluice(['rotues']), {
    code: 2,
    out: '',
    err: 'sluice: unknown command rotues (did you mean routes?); sluice help lists all commands\n',
  });
});

test('a property name of every object is an unknown command', async () => {
  assert.equal((await sluice(['constructor'])).code, 2);
});

test('help COMMAND is the same as COMMAND --help', async () => {
  assert.deepEqual(await sluice(['help', 'routes']), await sluice(['routes', '--help']));
  assert.match((await sluice(['help', 'rotues'])).err, /did you mean routes/);
});

test('an unknown flag is exit 2 and is named', async () => {
  assert.deepEqual(await sluice(['routes', '--jsn']), {
    code: 2,
    out: '',
    err: 'sluice routes: unknown flag --jsn (did you mean --json?)\n',
  });
});

test('the launcher works through symbolic links from anywhere', async (t) => {
  const directory = temporary(t);
  symlinkSync(LAUNCHER, join(directory, 'one'));
  symlinkSync('one', join(directory, 'two'));
  assert.match((await sluice(['version'], { launcher: join(directory, 'two') })).out, /^sluice \d+\.\d+\.\d+ \(Node 26\./);
});

test('a good file is valid', async (t) => {
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, 'a.example {\n  reverse_proxy 127.0.0.1:9000\n}\n');
  assert.deepEqual(await sluice(['validate', '--config', path]), { code: 0, out: 'Config valid.\n', err: '' });
});

test('an invalid file is exit 1 with every problem and its position', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'a.example {\n  revers_proxy x\n}\nb.example {\n  reverse_proxy nowhere\n}\n');
  const { code, out, err } = await sluice(['validate'], { cwd: directory });
  assert.deepEqual([code, out], [1, '']);
  assert.match(err, /^Sluicefile:2:3: .*did you mean/m);
  assert.match(err, /^Sluicefile:5:17: /m);
});

test('validate --json and version --json print the same as data', async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, 'Sluicefile'), 'a.example {\n  revers_proxy x\n}\n');
  const bad = await sluice(['validate', '--json'], { cwd: directory });
  const { valid, errors } = JSON.parse(bad.out) as { valid: boolean; errors: { path: string; line: number; column: number }[] };
  assert.deepEqual([bad.code, bad.err, valid], [1, '', false]);
  assert.deepEqual(errors.map(({ path, line, column }) => [path, line, column]).at(0), ['Sluicefile', 2, 3]);
  writeFileSync(join(directory, 'Sluicefile'), 'a.example {\n  respond "x"\n}\n');
  const good = await sluice(['validate', '--json'], { cwd: directory });
  assert.deepEqual([good.code, JSON.parse(good.out)], [0, { valid: true, errors: [], warnings: [] }]);
  const version = JSON.parse((await sluice(['version', '--json'])).out) as { node: string };
  assert.equal(version.node, process.versions.node);
});

test('a missing file is exit 2 and is named', async () => {
  assert.deepEqual(await sluice(['validate', '--config', '/none/Sluicefile']), {
    code: 2,
    out: '',
    err: 'sluice validate: the config file /none/Sluicefile does not exist\n',
  });
});

test('controller and run refuse to start without their file', async () => {
  for (const name of ['controller', 'run']) {
    const { code, err } = await sluice([name, '--config', '/none/Sluicefile']);
    assert.deepEqual([code, err], [2, `sluice ${name}: the config file /none/Sluicefile does not exist\n`]);
  }
});

const CA = fileURLToPath(new URL('../../controller/sources/file/golden/imported/certificates/ca.pem', import.meta.url));

test('common mistakes are answered with the right form', async () => {
  for (const [argv, err] of [
    [['run', 'Sluicefile'], 'sluice run: name the config file with --config Sluicefile\n'],
    [['validate', 'Sluicefile'], 'sluice validate: specify the file with --config Sluicefile\n'],
    [['--config', 'Sluicefile'], 'sluice: the command comes before its flags, as in sluice run --config Sluicefile\n'],
    [
      ['routes', '--admin', 'http://127.0.0.1:6190/'],
      'sluice routes: --admin "http://127.0.0.1:6190/": an address must not start with http://: write 127.0.0.1:6190\n',
    ],
    [
      ['routes', '--admin', 'edge.test:6190'],
      'sluice routes: --admin "edge.test:6190": the token is never sent to another machine unencrypted; write https://edge.test:6190, or forward the port (ssh -L) and use that address\n',
    ],
    [
      ['status', '--controller', 'edge.test:6191'],
      'sluice status: --controller "edge.test:6191": the status of a controller is served only to its own machine; forward its port (ssh -L) and use that address, or run the command there\n',
    ],
    [
      ['routes', '--admin', '127.0.0.1:6190', '--dataplane-ca', CA],
      'sluice routes: --dataplane-ca is only for a data plane over TLS; specify one with --admin https://HOST:PORT\n',
    ],
    [['status', '--admin', './admin.sock'], 'sluice status: --admin "./admin.sock": write a socket as unix:./admin.sock\n'],
    [['status', '--admin', '127.0.0.1'], 'sluice status: --admin "127.0.0.1": an address is HOST:PORT, https://HOST:PORT or unix:PATH\n'],
  ] as const)
    assert.deepEqual(await sluice([...argv]), { code: 2, out: '', err });
});

test('an unreachable Admin API is exit 5 with address and reason', async () => {
  for (const argv of [['routes'], ['status'], ['reload'], ['explain', 'a.example']]) {
    const { code, err } = await sluice([...argv, '--admin', 'unix:/none/admin.sock']);
    assert.deepEqual([code, err], [5, `sluice ${argv[0]}: the Admin API at unix:/none/admin.sock cannot be used: no such socket\n`]);
  }
});

test('a rejected token is exit 5', async (t) => {
  const address = await admin(t, { 'GET /routes?view=full': [401, { error: 'unauthorized' }] });
  const { code, err } = await sluice(['routes', '--admin', address]);
  assert.equal(code, 5);
  assert.match(err, /unauthorized/);
});

test('any other error is exit 1 with the API’s message, unescaped', async (t) => {
  const address = await admin(t, { 'GET /routes?view=full': [429, { error: 'rate &lt;limit&gt; exceeded' }] });
  assert.deepEqual(await sluice(['routes', '--admin', address]), {
    code: 1,
    out: '',
    err: 'sluice routes: the data plane responded with 429: rate <limit> exceeded\n',
  });
});

test('routes prints a complete table without color when piped', async (t) => {
  const long = { ...FULL, domain: `${'x'.repeat(200)}.example`, upstream: null, upstreams: [], origin: 'by\u001b[31m hand' };
  const { code, out } = await sluice(['routes', '--admin', await admin(t, { 'GET /routes?view=full': [200, [FULL, long]] })]);
  const [head, first, second] = out.split('\n');
  assert.equal(code, 0);
  assert.match(head ?? '', /^DOMAIN +TARGET +SOURCE +FROM +NOTES$/);
  assert.match(first ?? '', /^a\.example +10\.0\.0\.1:80 +file +Sluicefile:a\.example +5\/s$/);
  assert.ok(second?.startsWith(`${'x'.repeat(200)}.example`));
  assert.ok(!out.includes('\u001b'), 'no escape sequence reaches the terminal');
});

test('routes --json prints the API’s response', async (t) => {
  const { out } = await sluice(['routes', '--json', '--admin', await admin(t, { 'GET /routes?view=full': [200, [FULL]] })]);
  assert.deepEqual(JSON.parse(out), [FULL]);
});

test('commands load only the modules they need: queries neither compiler, schema, log nor API; commands for files only compiler and schema', async (t) => {
  const watch = `import { registerHooks } from 'node:module'; registerHooks({ load(url, context, next) { process.stderr.write(url + '\\n'); return next(url, context); } });`;
  const main = fileURLToPath(new URL('../../controller/cli/main.ts', import.meta.url));
  for (const argv of [['routes'], ['status'], ['reload'], ['explain', 'a.example']]) {
    const asked = ['--import', `data:text/javascript,${encodeURIComponent(watch)}`, main, ...argv, '--admin', 'unix:/none/admin.sock'];
    const { err } = await sluice(asked, { launcher: process.execPath });
    assert.match(err, /controller\/cli\/command\/admin-query\.ts\n/);
    assert.doesNotMatch(err, /node_modules|controller\/sources\/|\/reconcile\//, argv.join(' '));
  }
  const path = join(temporary(t), 'Sluicefile');
  writeFileSync(path, 'a.example { respond ok }\n');
  for (const command of ['validate', 'fmt', 'adapt', 'diff']) {
    const asked = ['--import', `data:text/javascript,${encodeURIComponent(watch)}`, main, command, '--config', path];
    const { err } = await sluice(command === 'diff' ? [...asked, '--admin', 'unix:/none'] : asked, { launcher: process.execPath });
    assert.match(err, /controller\/sources\/file\//);
    // Formatting compiles no routes, so it needs no schema.
    assert.doesNotMatch(err, command === 'fmt' ? /node_modules\/|\/reconcile\// : /node_modules\/(?!zod\/)|\/reconcile\//, command);
  }
});

const EXPLANATION = {
  url: 'http://a.example/x',
  verdict: 'forwarded to 10.0.0.1:80',
  routed: true,
  route: FULL,
  matched: 'a.example',
  block: { path: '/x', index: 0 },
  policies: [{ name: 'rate_limit', verdict: '5 of 5 left' }],
  targets: [
    {
      address: '10.0.0.1:80',
      tls: false,
      healthy: false,
      reason: 'connection refused',
      in_flight: 0,
      domains: ['a.example'],
      domain_count: 1,
    },
  ],
  certificate: 'none',
  problems: [],
  near: null,
};

test('explain describes the route, block, policy and target', async (t) => {
  const address = await admin(t, { 'GET /explain?url=a.example%2Fx': [200, EXPLANATION] });
  const { code, out } = await sluice(['explain', 'a.example/x', '--admin', address]);
  assert.equal(code, 0);
  assert.match(out, /^http:\/\/a\.example\/x: forwarded to 10\.0\.0\.1:80\n/);
  for (const line of [
    /route +a\.example, from Sluicefile:a\.example, applied by controller/,
    /block +handle \/x, the only block/,
    /policies +1\. rate_limit: 5 of 5 left/,
    /targets +10\.0\.0\.1:80: out of rotation, connection refused/,
  ])
    assert.match(out, line);
});

test('explain of an unrouted host gives the reason and exits with 1', async (t) => {
  const answer = {
    ...EXPLANATION,
    routed: false,
    route: null,
    block: null,
    targets: [],
    policies: [],
    verdict: '404: no route for a.example',
  };
  const answers: Record<string, [number, unknown]> = { 'GET /explain?url=a.example': [200, answer] };
  const { code, out } = await sluice(['explain', 'a.example', '--admin', await admin(t, answers)]);
  assert.equal(code, 1);
  assert.match(out, /404: no route for a\.example/);
  answers['GET /explain?url=a.example'] = [200, { ...answer, near: 'aa.example is routed' }];
  const hinted = await sluice(['explain', 'a.example', '--admin', await admin(t, answers)]);
  assert.equal(hinted.code, 1);
  assert.match(hinted.out, /closest +aa\.example is routed/);
});

test('explain requires a host', async () => {
  assert.deepEqual(await sluice(['explain']), { code: 2, out: '', err: 'sluice explain: needs HOST[/PATH]\n' });
});

const ALERT = { domain: null, subject: 'x', since: null };

test('status starts with what is wrong and what to do about it, and ends with advice', async (t) => {
  const alerts = [
    { ...ALERT, severity: 'error', code: 'pool_down', message: 'a.test has no target', action: 'Start the service.' },
    { ...ALERT, severity: 'warning', code: 'settings', message: 'no token', action: 'Set one.' },
    { ...ALERT, severity: 'advice', code: 'route_overridden', message: 'a.test is overridden', action: 'Remove it.' },
  ];
  const answers = (some: object[]) => admin(t, { 'GET /status': [200, STATUS], 'GET /alerts': [200, some] });
  const { code, out } = await sluice(['status', '--admin', await answers(alerts)]);
  assert.equal(code, 3);
  assert.match(out, /^! a\.test has no target\n {2}Start the service\.\n! no token\n {2}Set one\.\n\nversion /);
  assert.match(out, /\nNote: a\.test is overridden\n {2}Remove it\.\n$/);
  const advised = await sluice(['status', '--admin', await answers(alerts.slice(2))]);
  assert.deepEqual([advised.code, advised.out.split('\n')[0]], [0, 'Nothing is wrong.']);
  const { out: json } = await sluice(['status', '--json', '--admin', await answers(alerts)]);
  assert.deepEqual((JSON.parse(json) as { alerts: unknown }).alerts, alerts);
});

test('status of a data plane that is too old to list alerts starts with current problems', async (t) => {
  const problem = { source: 'file', origin: 'Sluicefile:3', domain: null, code: 'x', message: 'Sluicefile:3:1: no', since: '' };
  const bad = {
    ...STATUS,
    ready: false,
    reason: 'no table yet',
    workers: { configured: 2, serving: 1, restarts: 4 },
    problems: [problem],
    warnings: ['no token'],
    upstreams: { count: 2, healthy: 0, out: EXPLANATION.targets },
  };
  const { code, out } = await sluice(['status', '--admin', await admin(t, { 'GET /status': [200, bad] })]);
  assert.equal(code, 3);
  assert.deepEqual(out.split('\n').slice(0, 7), [
    '! not ready: no table yet',
    '! 1 of 2 workers are not serving',
    '! 10.0.0.1:80 is out of rotation: connection refused (a.example)',
    '! 1 more out of rotation',
    '! no token',
    '! Sluicefile:3:1: no',
    '',
  ]);
});

test('status reports that nothing is wrong', async (t) => {
  const { out } = await sluice(['status', '--admin', await admin(t, { 'GET /status': [200, STATUS] })]);
  assert.match(out, /^Nothing is wrong\.\n/);
  assert.match(out, /^up +1h 2m$/m);
});

test('status ends with advice, which does not count as a problem', async (t) => {
  const advised = { ...STATUS, advice: ['set this'] };
  const { out } = await sluice(['status', '--admin', await admin(t, { 'GET /status': [200, advised] })]);
  assert.match(out, /^Nothing is wrong\.\n.*\nNote: set this\n$/s);
});

const reloadWith = async (t: TestContext, status: number, body: unknown) =>
  sluice(['reload', '--admin', await admin(t, { 'POST /reload?wait=true': [status, body] })]);

test('reload prints what was applied', async (t) => {
  const applied = { added: 1, changed: 2, removed: 3, unchanged: 4 };
  assert.deepEqual(await reloadWith(t, 200, { message: 'config reloaded', applied }), {
    code: 0,
    out: 'Applied: 1 added, 2 changed, 3 removed, 4 unchanged.\n',
    err: '',
  });
});

test('reload reports that nothing changed', async (t) => {
  const applied = { added: 0, changed: 0, removed: 0, unchanged: 0 };
  const { out } = await reloadWith(t, 200, { message: 'config reloaded', applied });
  assert.equal(out, 'Nothing changed: the configuration is already in effect.\n');
});

test("reload prints the file's errors and exits 1", async (t) => {
  const errors = ['Sluicefile:1:1: no &quot;x&quot;', 'Sluicefile:2:1: nor this'];
  assert.deepEqual(await reloadWith(t, 422, { error: 'the file has errors', errors }), {
    code: 1,
    out: '',
    err: 'Sluicefile:1:1: no "x"\nSluicefile:2:1: nor this\n',
  });
});

test('reload --json prints a success or failure as data', async (t) => {
  const applied = { added: 1, changed: 0, removed: 0, unchanged: 2 };
  const answers = async (status: number, body: unknown) =>
    sluice(['reload', '--json', '--admin', await admin(t, { 'POST /reload?wait=true': [status, body] })]);
  const good = await answers(200, { message: 'config reloaded', applied });
  assert.deepEqual([good.code, JSON.parse(good.out)], [0, { applied, errors: [] }]);
  const bad = await answers(422, { error: 'reload failed', errors: ['a:1:1: no &quot;x&quot;'] });
  assert.deepEqual([bad.code, JSON.parse(bad.out)], [1, { applied: null, errors: ['a:1:1: no "x"'] }]);
});

test('a reload refused by the cooldown is exit 4, one refused by the rate limit exit 1', async (t) => {
  assert.deepEqual(await reloadWith(t, 429, { error: 'reload too soon', retry_after: 3 }), {
    code: 4,
    out: '',
    err: 'sluice reload: reload too soon, try again in 3 s\n',
  });
  assert.equal((await reloadWith(t, 429, { error: 'rate limit exceeded' })).code, 1);
});
