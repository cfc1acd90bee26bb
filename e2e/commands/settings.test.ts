import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { until } from '../testing/until.ts';

type Setting = { readonly name: string; readonly value: unknown; readonly origin: string };
const SITE = 'site.test {\n  respond "here"\n}\n';

async function settingsOf(pair: Pair): Promise<Record<string, readonly [value: unknown, origin: string]>> {
  const list = JSON.parse((await pair.admin('/settings')).text) as Setting[];
  return Object.fromEntries(list.map(({ name, value, origin }) => [name, [value, origin]]));
}

test('a flag overrides the environment, the environment the file, and the file the default', async () => {
  using folder = new Folder();
  const [file, environment, flag] = [await freePort(), await freePort(), await freePort()];
  const globals = `{\n  http_port ${file}\n  bind 127.0.0.1\n  drain_timeout 7s\n}\n`;
  {
    await using pair = await Pair.start(folder, SITE, { globals, env: { SLUICE_HTTP_PORT: `${environment}`, SLUICE_DRAIN_TIMEOUT: '9s' } });
    const { http_port, drain_timeout } = await settingsOf(pair);
    assert.deepEqual({ http_port, drain_timeout }, { http_port: [environment, 'environment'], drain_timeout: ['9s', 'environment'] });
    assert.equal((await ask({ port: environment }, '/', { headers: { host: 'site.test' } })).text, 'here');
    await assert.rejects(ask({ port: file }, '/'), /ECONNREFUSED/, 'the port of the file is never opened');
  }
  await using pair = await Pair.start(folder, SITE, {
    globals,
    env: { SLUICE_HTTP_PORT: `${environment}` },
    flags: ['--http-port', `${flag}`],
  });
  const { http_port, drain_timeout, https_port } = await settingsOf(pair);
  assert.deepEqual(
    { http_port, drain_timeout, https_port },
    { http_port: [flag, 'flag'], drain_timeout: ['7s', 'file'], https_port: [443, 'default'] },
  );
  assert.equal((await ask({ port: flag }, '/', { headers: { host: 'site.test' } })).text, 'here');
  for (const port of [file, environment]) await assert.rejects(ask({ port }, '/'), /ECONNREFUSED/);
});

test('a new port in the file is opened before the old one closes, and other globals apply immediately', async () => {
  using folder = new Folder();
  const [port, other] = [await freePort(), await freePort()];
  const globals = (listen: number, more = '') => `{\n  bind 127.0.0.1\n  http_port ${listen}\n${more}}\n`;
  await using pair = await Pair.start(folder, SITE, { globals: globals(port) });
  const answered = (at: number) => ask({ port: at }, '/', { headers: { host: 'site.test' } });
  writeFileSync(pair.file, globals(other, '  drain_timeout 4s\n') + SITE);
  for (let asked = 0; ; asked++) {
    const old = await answered(port).catch(() => null);
    if (old === null) break;
    assert.equal(old.text, 'here');
    assert.ok(asked < 100_000, 'the old port is never closed');
  }
  assert.equal((await answered(other)).text, 'here', 'the new port responds once the old one is closed');
  const { http_port, drain_timeout } = await settingsOf(pair);
  assert.deepEqual({ http_port, drain_timeout }, { http_port: [other, 'file'], drain_timeout: ['4s', 'file'] });
});

test('a new port that is in use is not applied, status reports it, and everything stays as it was', async () => {
  using folder = new Folder();
  const port = await freePort();
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port: wanted } = taken.address() as AddressInfo;
  const globals = (listen: number) => `{\n  bind 127.0.0.1\n  http_port ${listen}\n}\n`;
  await using pair = await Pair.start(folder, SITE, { globals: globals(port) });
  writeFileSync(pair.file, globals(wanted) + SITE);
  const warning = await until('status to name it', async () => {
    const { stdout } = await pair.command('status');
    return stdout.includes('but stays') ? stdout : undefined;
  });
  assert.ok(warning.includes(`http_port is ${wanted} in the config file, but stays ${port}: the address is already in use`), warning);
  const { http_port } = await settingsOf(pair);
  assert.deepEqual(http_port, [port, 'file']);
  assert.equal((await ask({ port }, '/', { headers: { host: 'site.test' } })).text, 'here');
  taken.close();
});

test('after a restart with a bad file, the ports of its last good version are opened', async () => {
  using folder = new Folder();
  const port = await freePort();
  const globals = `{\n  http_port ${port}\n  bind 127.0.0.1\n}\n`;
  {
    await using pair = await Pair.start(folder, SITE, { globals });
    assert.equal((await ask({ port }, '/', { headers: { host: 'site.test' } })).text, 'here');
    assert.equal((await pair.program.kill('SIGTERM')).code, 0);
  }
  await using pair = await Pair.start(folder, 'site.test {\n  respnd "there"\n}\n', { globals });
  assert.equal((await ask({ port }, '/', { headers: { host: 'site.test' } })).text, 'here');
  const { http_port, bind } = await settingsOf(pair);
  assert.deepEqual({ http_port, bind }, { http_port: [port, 'file'], bind: ['127.0.0.1', 'file'] });
});
