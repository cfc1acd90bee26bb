import assert from 'node:assert/strict';
import { Resolver } from 'node:dns/promises';
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { missing } from '../components.ts';
import { Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, run } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';
import { keyText, Named } from './testing/named.ts';
import type { Pebble } from './testing/pebble.ts';
import { get, Scene } from './testing/scene.ts';

const skip = missing('pebble') ?? missing('named') ?? missing('curl');
const LIMITS = { skip };

const hello = () => Upstream.start('app', (_, response) => response.end('hello'));
const times = (text: string, what: string): number => text.split(what).length - 1;
const orders = (pebble: Pebble): number => times(pebble.output, 'Added order');
const checksOverHttp = (pebble: Pebble): number => times(pebble.output, 'Attempting to validate w/ HTTP');

test('a name with an unreachable port 80 is validated by TLS-ALPN-01, which is tried first the next time', LIMITS, async () => {
  await using scene = await Scene.start({ httpPort: await freePort() });
  const pebble = scene.pebble as Pebble;
  await using upstream = await hello();
  const root = await pebble.root();
  await using first = await scene.dataplane();
  await first.route('shop.example.com', upstream.address);
  const socket = await scene.shake('shop.example.com', root);
  assert.match(await get(socket, 'shop.example.com'), /hello$/);
  const asked = checksOverHttp(pebble);
  assert.ok(asked > 0);
  assert.equal(orders(pebble), 2);
  // The challenge that worked is saved a second later.
  await until('what worked to be remembered', () => readFileSync(scene.folder.file('state/checks.json'), 'utf8').includes('tls-alpn-01'));
  await first.program.kill();
  rmSync(scene.folder.file('certs/acme'), { recursive: true });
  await using second = await scene.dataplane();
  await until('another certificate', () => scene.shake('shop.example.com', root).then((secure) => secure.destroy()));
  assert.deepEqual([orders(pebble), checksOverHttp(pebble)], [3, asked]);
  // No trace of the challenge is left.
  const client = new Program('openssl', [
    ...['s_client', '-connect', `127.0.0.1:${scene.httpsPort}`],
    ...['-servername', 'shop.example.com', '-alpn', 'acme-tls/1'],
  ]);
  await client.exited;
  assert.match(client.output, /alert number 120/);
  assert.equal(second.program.exit, null);
});

describe('DNS-01', () => {
  test('with a hook issues a wildcard and its base name at once, and the hook cleans up', LIMITS, async () => {
    await using scene = await Scene.start();
    const pebble = scene.pebble as Pebble;
    await using upstream = await hello();
    const calls = scene.folder.file('calls');
    const hook = scene.folder.file('hook');
    const add = `curl -sf -d "{\\"host\\":\\"$2.\\",\\"value\\":\\"$3\\"}" http://127.0.0.1:${pebble.ports.dnsManagement}/set-txt`;
    writeFileSync(hook, `#!/bin/sh\nset -eu\necho "$@ $(env | wc -l)" >>${calls}\n[ "$1" = cleanup ] || ${add}\n`);
    chmodSync(hook, 0o755);
    await using dataplane = await scene.dataplane(['--acme-dns-hook', hook, '--acme-dns-resolver', `127.0.0.1:${pebble.ports.dns}`]);
    await dataplane.route('*.example.com', upstream.address);
    await dataplane.route('example.com', upstream.address);
    const trusted = await pebble.root();
    const root = scene.folder.file('root.pem');
    writeFileSync(root, trusted);
    for (const host of ['shop.example.com', 'example.com']) {
      const address = `https://${host}:${scene.httpsPort}/`;
      await until(`the certificate of ${host}`, () => scene.shake(host, trusted).then((secure) => secure.destroy()));
      const curl = new Program('curl', ['-sS', '--cacert', root, '--connect-to', `::127.0.0.1:${scene.httpsPort}`, address]);
      await curl.exited;
      assert.equal(curl.output, 'hello', host);
    }
    await until('the program to have cleaned up', () => times(readFileSync(calls, 'utf8'), 'cleanup') > 0);
    const [present = '', cleanup = ''] = readFileSync(calls, 'utf8').split('\n');
    const [, name, value, variables] = present.split(' ');
    assert.equal(name, '_acme-challenge.example.com');
    assert.match(value ?? '', /^[\w-]{43}$/);
    assert.ok(Number(variables) < 12, `${variables} variables`);
    assert.deepEqual(cleanup.split(' ').slice(0, 3), ['cleanup', name, value]);
  });

  test(
    'with dynamic updates of a real server (RFC 2136) works even with an alias into another zone, and removes its records',
    LIMITS,
    async () => {
      using folder = new Folder();
      await using named = await Named.start(folder);
      await using scene = await Scene.start({ dnsServer: named.address });
      const pebble = scene.pebble as Pebble;
      await using upstream = await hello();
      const flags = ['--acme-dns-server', named.address, '--acme-dns-key-file', named.keyPath, '--acme-dns-resolver', named.address];
      await using dataplane = await scene.dataplane(flags);
      const root = await pebble.root();
      await dataplane.route('*.example.com', upstream.address);
      await dataplane.route('*.shop.example.org', upstream.address);
      for (const host of ['a.example.com', 'b.shop.example.org']) {
        const socket = await until(host, () => scene.shake(host, root)).catch((error: unknown) => {
          throw new Error(`${error}\n${dataplane.program.output}\n${named.output}`);
        });
        assert.match(await get(socket, host), /hello$/);
      }
      const resolver = new Resolver();
      resolver.setServers([named.address]);
      for (const name of ['_acme-challenge.example.com', 'shop.checks.example.com'])
        await until(`${name} to be gone`, () =>
          resolver.resolveTxt(name).then(
            () => false,
            () => true,
          ),
        );
    },
  );

  test('with a key that the server rejects reports the key, and does not request validation', LIMITS, async () => {
    await using scene = await Scene.start();
    const pebble = scene.pebble as Pebble;
    await using named = await Named.start(scene.folder);
    await using upstream = await hello();
    const key = scene.folder.file('other.key');
    for (const [wrong, words] of [
      [keyText({ name: 'other-key', algorithm: 'hmac-sha256', secret: 'c2VjcmV0' }), /does not know the key other-key/],
      [keyText({ name: 'acme-key', algorithm: 'hmac-sha256', secret: 'c2VjcmV0' }), /its secret for the key acme-key is a different one/],
    ] as const) {
      writeFileSync(key, wrong);
      const flags = ['--acme-dns-server', named.address, '--acme-dns-key-file', key, '--acme-dns-resolver', named.address];
      await using dataplane = await scene.dataplane(flags);
      await dataplane.route('*.example.com', upstream.address);
      await dataplane.program.said(words);
      await dataplane.program.kill();
    }
    assert.equal(times(pebble.output, 'Starting 3 validations'), 0);
  });

  test('with invalid settings prevents startup and names the flag', async () => {
    const flags = ['dataplane', '--state-dir', '/tmp/none-of-this'];
    for (const [more, words] of [
      [['--acme-dns-hook', '/nowhere/hook'], /--acme-dns-hook: can't run \/nowhere\/hook: there is no such file/],
      [['--acme-ca-root', '/nowhere/root.pem'], /--acme-ca-root \/nowhere\/root\.pem can't be read: ENOENT/],
      [['--acme-dns-key-file', '/nowhere/key'], /--acme-dns-server/],
      [['--acme-dns-server', 'ns.example.com:0'], /--acme-dns-server/],
    ] as const) {
      const { code, stderr } = await run([...flags, ...more]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, words);
    }
  });
});
