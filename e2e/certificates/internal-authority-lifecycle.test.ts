import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { type Dataplane, Folder } from '../testing/dataplane.ts';
import { visit } from '../testing/http.ts';
import { getSecurely, InternalScene } from '../testing/internal-scene.ts';
import { Pair } from '../testing/pair.ts';
import { freePort, usedBy } from '../testing/ports.ts';

test('the root is kept across a restart and a takeover, and a posted route has HTTPS with the next handshake', async () => {
  await using scene = await InternalScene.start();
  const roots = new Set<string>();
  const httpPort = await freePort();
  const start = (...more: string[]): Promise<Dataplane> => scene.dataplane(more, httpPort);
  {
    await using dataplane = await start();
    await dataplane.route('shop.test', scene.upstream.address, { https: 'internal' });
    await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
    roots.add(scene.root);
    assert.match(await scene.get('shop.test'), /hello$/);
    await dataplane.route('new.test', scene.upstream.address, { https: 'internal' });
    assert.match(await scene.get('new.test'), /hello$/, 'a handshake waits for the certificate');
    await dataplane.route('127.0.0.1', scene.upstream.address, { https: 'internal' });
    assert.match(await scene.get(null), /hello$/, 'a client without a server name gets the page too');
  }
  await using again = await start();
  assert.match(await scene.get('shop.test'), /hello$/);
  roots.add(scene.root);
  await using successor = await start('--takeover');
  await again.program.exited;
  assert.match(await scene.get('shop.test'), /hello$/);
  assert.match(successor.program.output, /update-ca-certificates/);
  roots.add(scene.root);
  assert.equal(roots.size, 1);
});

test('while the HTTPS port is in use a site stays on HTTP and status says why; once it is free the site has HTTPS', async () => {
  await using scene = await InternalScene.start();
  const other = createServer().listen(scene.httpsPort, '127.0.0.1');
  await once(other, 'listening');
  await using dataplane = await scene.dataplane();
  await dataplane.route('shop.test', scene.upstream.address, { https: 'internal' });
  const warning = await until('the warning', async () =>
    (JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] }).warnings.find((line) =>
      line.includes('authority'),
    ),
  );
  const why = `can't listen on ${scene.httpsPort}: the address is already in use${usedBy(process.pid)}; name another with --https-port`;
  assert.ok(warning.includes(`the internal authority can't work: ${why}`), warning);
  assert.equal((await dataplane.visit('shop.test')).status, 200);
  other.close();
  await once(other, 'close');
  await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
  assert.match(await scene.get('shop.test'), /hello$/);
});

test('a Sluicefile enables the internal authority for one site or all, and sluice certificates prints the root to trust', async () => {
  using folder = new Folder();
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const globals = (more: string): string =>
    `{\n  http_port ${httpPort}\n  https_port ${httpsPort}\n  bind 127.0.0.1\n  drain_timeout 1s\n${more}}\n`;
  const sites = 'shop.test {\n  tls internal\n  respond "a shop"\n}\nplain.test {\n  respond "plain"\n}\n';
  const file = folder.file('Sluicefile');
  await using pair = await Pair.start(folder, sites, { globals: globals('') });
  const status = async (host: string): Promise<number> => (await visit(httpPort, host)).status;
  await until('the redirect', async () => (await status('shop.test')) === 308);
  assert.equal(await status('plain.test'), 200);
  const { stdout: root } = await pair.command('certificates', '--root');
  assert.match(root, /^-----BEGIN CERTIFICATE-----\n[^-]+-----END CERTIFICATE-----\n$/);
  assert.match(await getSecurely(httpsPort, 'shop.test', root), /a shop$/);
  const { stdout: list } = await pair.command('certificates');
  assert.match(list, /^shop\.test +internal +sluice internal authority \w+ +\d{4}-/m);
  writeFileSync(file, globals('  local_certs\n') + sites);
  await until('the other site to follow', async () => (await status('plain.test')) === 308);
  assert.match(await getSecurely(httpsPort, 'plain.test', root), /plain$/);
});
