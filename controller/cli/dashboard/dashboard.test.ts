import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { usedBy } from '../../../e2e/testing/ports.ts';
import { until } from '../../../shared/runtime/testing/until.ts';
import { admin, LAUNCHER, sluice, temporary } from '../testing/run-command.ts';

const WITH_PAGE: Record<string, [number, unknown]> = {
  'GET /status': [200, { controllers: [] }],
  'GET /dashboard/': [200, '<!doctype html>the page'],
};

type Started = { readonly child: ChildProcess; readonly url: URL; readonly out: () => string };

/** The command, once it has printed its address. */
async function start(t: TestContext, argv: readonly string[], env: Record<string, string> = {}): Promise<Started> {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const child = spawn(LAUNCHER, ['dashboard', ...argv], { env: { PATH, NODE_COMPILE_CACHE, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  let out = '';
  const keep = (text: Buffer) => {
    out += text;
  };
  child.stdout.on('data', keep);
  child.stderr.on('data', keep);
  await until('the address', () => out.includes('Ctrl-C') || child.exitCode !== null);
  const address = /^The dashboard is at (http:\S+)$/m.exec(out)?.[1];
  assert.ok(address !== undefined, out);
  return { child, url: new URL(address), out: () => out };
}

async function page(url: URL): Promise<string> {
  const entered = await fetch(url, { redirect: 'manual' });
  const cookie = entered.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return (await fetch(new URL(entered.headers.get('location') ?? '', url), { headers: { cookie } })).text();
}

test('prints an address of this machine that leads to the page, and ends on Ctrl-C', async (t) => {
  const { child, url, out } = await start(t, ['--admin', await admin(t, WITH_PAGE)]);
  assert.equal(url.hostname, '127.0.0.1');
  assert.match(out(), /^The dashboard is at \S+\nThe address works once, in one browser\. Ctrl-C ends it\.\n$/);
  assert.equal(await page(url), '<!doctype html>the page');
  child.kill('SIGINT');
  assert.deepEqual(await once(child, 'close'), [0, null]);
  await assert.rejects(fetch(url));
});

test('a mistyped state directory is reported if another data plane, which rejects the token, responds at the default port', async (t) => {
  const listen = await admin(t, { 'GET /health': [200, {}], 'GET /status': [401, { error: 'unauthorized' }] });
  const directory = temporary(t);
  const { code, err } = await sluice(['dashboard', '--state-dir', directory], { env: { SLUICE_ADMIN_LISTEN: listen } });
  assert.equal(code, 5);
  assert.match(err, new RegExp(`Tried unix:${directory}/admin\\.sock: no such socket; .*${listen}: unauthorized .*--state-dir PATH\\n$`));
});

test('serves at the port that is given, so that it can be forwarded', async (t) => {
  const address = await admin(t, WITH_PAGE);
  const first = await start(t, ['--admin', address, '--dashboard-listen', '127.0.0.1:0']);
  const port = first.url.port;
  const { code, err } = await sluice(['dashboard', '--admin', address, '--dashboard-listen', `127.0.0.1:${port}`]);
  assert.deepEqual([code, err], [2, `sluice dashboard: port ${port} is in use${usedBy(first.child.pid ?? 0)}\n`]);
  const { url } = await start(t, ['--admin', address, '--dashboard-listen', '0.0.0.0:0']);
  assert.equal(url.hostname, '127.0.0.1');
});

test('an address of another machine, or no port, is refused', async () => {
  for (const listen of ['192.0.2.1:80', 'localhost', 'example.com:80', '127.0.0.1:70000', ':80']) {
    const { code, err } = await sluice(['dashboard', '--dashboard-listen', listen]);
    assert.equal(code, 2, listen);
    assert.match(err, /^sluice dashboard: --dashboard-listen "/);
  }
});

test('a data plane without a dashboard, and one that rejects the token, are reported before anything is served', async (t) => {
  const old = await admin(t, { 'GET /status': [200, { controllers: [] }] });
  assert.deepEqual(await sluice(['dashboard', '--admin', old]), {
    code: 1,
    out: '',
    err: 'sluice dashboard: the running data plane has no dashboard; sluice upgrade replaces it with this version\n',
  });
  const closed = await admin(t, { 'GET /status': [401, { error: 'unauthorized' }] });
  const { code, err } = await sluice(['dashboard', '--admin', closed]);
  assert.equal(code, 5);
  assert.match(err, /unauthorized .set SLUICE_ADMIN_TOKEN/);
});

/** A program with this name that records its arguments, and a terminal for the command. */
async function onTerminal(
  t: TestContext,
  argv: readonly string[],
  env: Record<string, string>,
): Promise<{ opened: () => string; url: string }> {
  const directory = temporary(t);
  const log = join(directory, 'opened');
  writeFileSync(log, '');
  writeFileSync(join(directory, 'xdg-open'), `#!/bin/sh\necho "$@" >> ${log}\nexit 3\n`);
  chmodSync(join(directory, 'xdg-open'), 0o755);
  const line = [LAUNCHER, 'dashboard', ...argv].join(' ');
  // `script` gives the command a terminal.
  const child = spawn('script', ['-qefc', line, '/dev/null'], {
    env: { PATH: `${directory}:${process.env.PATH}`, TERM: 'xterm', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGTERM'));
  let out = '';
  child.stdout.on('data', (text: Buffer) => {
    out += text;
  });
  await until('the address', () => out.includes('Ctrl-C') || child.exitCode !== null);
  return { opened: () => readFileSync(log, 'utf8'), url: /http:\S+/.exec(out)?.[0] ?? '' };
}

test('in a terminal with a screen it opens the address in a browser, and continues if that fails', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const address = await admin(t, WITH_PAGE);
  const { opened, url } = await onTerminal(t, ['--admin', address], { DISPLAY: ':0' });
  await until('the browser to be opened', () => opened() !== '');
  assert.equal(opened(), `${url}\n`);
  assert.equal(await page(new URL(url)), '<!doctype html>the page');
});

test('with --no-open it opens nothing', { skip: process.platform !== 'linux' }, async (t) => {
  const { opened, url } = await onTerminal(t, ['--admin', await admin(t, WITH_PAGE), '--no-open'], { DISPLAY: ':0' });
  assert.equal(await page(new URL(url)), '<!doctype html>the page');
  assert.equal(opened(), '');
});
