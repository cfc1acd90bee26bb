import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';

type Setting = { readonly name: string; readonly value: unknown; readonly origin: string };
const SITE = 'site.test {\n  respond "here"\n}\n';

async function settingsOf(pair: Pair): Promise<Record<string, readonly [value: unknown, origin: string]>> {
  const list = JSON.parse((await pair.admin('/settings')).text) as Setting[];
  return Object.fromEntries(list.map(({ name, value, origin }) => [name, [value, origin]]));
}

test('a flag overrides the environment, the environment the file, and the file the default', async () => {
  using folder = new Folder();
  const [file, environment, flag] = [await freePort(), await freePort(), await freePort()];
  const [fileHttps, environmentHttps] = [await freePort(), await freePort()];
  const globals = `{
  bind 127.0.0.1
  http_port ${file}
  https_port ${fileHttps}
  local_certs
  drain_timeout 7s
  max_connections 99
}
`;
  const sites = 'site.test {\n  tls off\n  respond "here"\n}\nsecure.test {\n  respond "there"\n}\n';
  const env = { SLUICE_HTTP_PORT: `${environment}`, SLUICE_HTTPS_PORT: `${environmentHttps}`, SLUICE_DRAIN_TIMEOUT: '9s' };
  await using pair = await Pair.start(folder, sites, { globals, env, flags: ['--http-port', `${flag}`] });
  const { http_port, https_port, drain_timeout, max_connections, shutdown_delay } = await settingsOf(pair);
  assert.deepEqual(
    { http_port, https_port, drain_timeout, max_connections, shutdown_delay },
    {
      http_port: [flag, 'flag'],
      https_port: [environmentHttps, 'environment'],
      drain_timeout: ['9s', 'environment'],
      max_connections: [99, 'file'],
      shutdown_delay: ['0s', 'default'],
    },
  );
  assert.equal((await ask({ port: flag }, '/', { headers: { host: 'site.test' } })).text, 'here');
  const refused = (port: number) =>
    ask({ port }, '/').then(
      () => false,
      ({ code }: NodeJS.ErrnoException) => code === 'ECONNREFUSED',
    );
  await until('HTTPS on the port of the environment', async () => !(await refused(environmentHttps)));
  for (const port of [file, environment, fileHttps]) assert.ok(await refused(port), `${port}`);
});

describe('of a file that is saved', () => {
  const folder = new Folder();
  const globals = (port: number, more = '') => `{\n  bind 127.0.0.1\n  http_port ${port}\n${more}}\n`;
  const answered = (port: number) => ask({ port }, '/', { headers: { host: 'site.test' } });
  let port: number;
  let pair: Pair;
  before(async () => {
    port = await freePort();
    pair = await Pair.start(folder, SITE, { globals: globals(port) });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a new port is opened before the old one closes, and other globals apply immediately', async () => {
    await pair.serve(SITE);
    const other = await freePort();
    pair.write(SITE, globals(other, '  drain_timeout 4s\n'));
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

  test('a new port that is in use is not applied until it is free, status reports it, and everything stays as it was', async () => {
    await pair.serve(SITE);
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port: wanted } = taken.address() as AddressInfo;
    pair.write(SITE, globals(wanted));
    await until('the status to name it', async () => (await pair.admin('/status')).text.includes('but stays'));
    const { stdout } = await pair.command('status');
    assert.ok(stdout.includes(`http_port is ${wanted} in the config file, but stays ${port}: the address is already in use`), stdout);
    const { http_port } = await settingsOf(pair);
    assert.deepEqual(http_port, [port, 'file']);
    assert.equal((await answered(port)).text, 'here');
    taken.close();
    await until('the port to be opened, as it is free', async () => (await answered(wanted)).text === 'here');
  });

  // The last: it ends the pair.
  test('the ports of the last good version are opened after a restart with errors in it', async () => {
    await pair.serve(SITE);
    assert.equal((await answered(port)).text, 'here');
    assert.equal((await pair.program.kill('SIGTERM')).code, 0);
    await using restarted = await Pair.start(folder, 'site.test {\n  respnd "there"\n}\n', { globals: globals(port) });
    assert.equal((await answered(port)).text, 'here');
    const { http_port, bind } = await settingsOf(restarted);
    assert.deepEqual({ http_port, bind }, { http_port: [port, 'file'], bind: ['127.0.0.1', 'file'] });
  });
});
