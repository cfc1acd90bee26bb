import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { connect } from 'node:tls';
import type { CertificateRecord } from '../shared/wire/certificate.ts';
import { Dataplane, Folder, frame, NDJSON } from './harness/dataplane.ts';
import { visit } from './harness/http.ts';
import { Pair } from './harness/pair.ts';
import { freePort } from './harness/ports.ts';
import { until } from './harness/until.ts';
import { Upstream } from './harness/upstream.ts';

const ROOT_FILE = 'state/sluice-internal-root.crt';

/** The answer over TLS to a client that trusts one root and nothing else; null names nobody. @throws what ended the handshake. */
async function getSecurely(port: number, name: string | null, root: string, host = name): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, ca: root, ...(name !== null && { servername: name }) });
  await once(socket, 'secureConnect');
  socket.write(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

class Scene {
  readonly folder = new Folder();
  readonly upstream: Upstream;
  readonly httpsPort: number;

  private constructor(upstream: Upstream, httpsPort: number) {
    this.upstream = upstream;
    this.httpsPort = httpsPort;
  }

  static async start(): Promise<Scene> {
    return new Scene(await Upstream.start('app', (_, response) => response.end('hello')), await freePort());
  }

  dataplane(more: readonly string[] = [], httpPort?: number): Promise<Dataplane> {
    const flags = ['--https-port', `${this.httpsPort}`, ...more];
    return Dataplane.start({ stateDir: this.folder.file('state'), flags, ...(httpPort !== undefined && { httpPort }) });
  }

  get root(): string {
    return readFileSync(this.folder.file(ROOT_FILE), 'utf8');
  }

  /** As `getSecurely`, by whoever trusts the root. */
  get(name: string | null, host = name ?? '127.0.0.1'): Promise<string> {
    return getSecurely(this.httpsPort, name, this.root, host);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.upstream[Symbol.asyncDispose]();
    this.folder[Symbol.dispose]();
  }
}

const certificates = async (dataplane: Dataplane): Promise<CertificateRecord[]> =>
  JSON.parse((await dataplane.admin('GET', '/certificates')).text) as CertificateRecord[];

test('a site that asks for the internal authority is on HTTPS without an e-mail: name, wildcard, localhost and address', async () => {
  await using scene = await Scene.start();
  await using dataplane = await scene.dataplane();
  const internal = { https: 'internal' };
  for (const domain of ['shop.test', '*.wild.test', 'localhost', '127.0.0.1'])
    await dataplane.route(domain, scene.upstream.address, internal);
  await dataplane.route('plain.test', scene.upstream.address);
  await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
  assert.equal((await dataplane.visit('shop.test', '/a?b')).headers.location, `https://shop.test:${scene.httpsPort}/a?b`);
  for (const [name, host] of [['shop.test'], ['x.wild.test'], ['localhost'], [null, '127.0.0.1']] as const) {
    const answer = await scene.get(name, host);
    assert.match(answer, /^HTTP\/1.1 200 OK\r\n[\s\S]*hello$/, `${name}`);
    assert.doesNotMatch(answer, /strict-transport-security/i, 'whoever does not trust the root next time must get in on HTTP');
  }
  assert.equal((await dataplane.visit('plain.test')).status, 200);
  await assert.rejects(scene.get('plain.test'), /unrecognized name/i);
});

test('local_certs is for every site that says nothing, ends with the setting, and no name is ordered anywhere', async () => {
  await using scene = await Scene.start();
  await using dataplane = await scene.dataplane(['--acme-email', 'ops@example.com', '--cert-dir', scene.folder.file('certs')]);
  const site = { domain: 'shop.test', upstream: scene.upstream.address };
  const say = async (revision: number, settings: object): Promise<void> => {
    const lines = frame(revision, [site, { ...site, domain: 'off.test', https: 'off' }]);
    const withSettings = lines.replace(/(?=\{"end")/, `${JSON.stringify({ settings })}\n`);
    assert.equal((await dataplane.admin('POST', '/routes', withSettings, NDJSON)).status, 200);
  };
  const origin = async () =>
    (JSON.parse((await dataplane.admin('GET', '/settings')).text) as { name: string }[]).find(({ name }) => name === 'local_certs');
  assert.deepEqual(await origin(), { name: 'local_certs', value: false, origin: 'default' });
  await say(1, { local_certs: true });
  await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
  assert.match(await scene.get('shop.test'), /hello$/);
  assert.equal((await dataplane.visit('off.test')).status, 200);
  assert.deepEqual(await origin(), { name: 'local_certs', value: true, origin: 'file' });
  const [record, ...others] = await certificates(dataplane);
  assert.deepEqual([record?.domains, record?.source, others], [['shop.test'], 'internal', []]);
  assert.ok(Date.parse(record?.renew_at ?? '') > Date.now());
  const explained = await dataplane.admin('GET', `/explain?url=${encodeURIComponent('https://shop.test/')}`);
  assert.match(
    (JSON.parse(explained.text) as { certificate: string }).certificate,
    /^shop\.test by sluice internal authority .*\(internal\)$/,
  );
  await say(2, {});
  await until('HTTP to be all there is', async () => (await dataplane.visit('shop.test')).status === 200);
  const refusal = () => scene.get('shop.test').then(() => null, String);
  assert.match(await until('the certificate to be gone', refusal), /unrecognized name/i);
});

test('the root is the same after a restart and a takeover, and a route posted is on HTTPS with the next handshake', async () => {
  await using scene = await Scene.start();
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
    assert.match(await scene.get(null), /hello$/, 'so does one by address');
  }
  await using again = await start();
  assert.match(await scene.get('shop.test'), /hello$/);
  roots.add(scene.root);
  await using heir = await start('--takeover');
  await again.program.exited;
  assert.match(await scene.get('shop.test'), /hello$/);
  assert.match(heir.program.output, /update-ca-certificates/);
  roots.add(scene.root);
  assert.equal(roots.size, 1);
});

test('where something else has the port a site stays on HTTP and the status says why; once it is free the site is on HTTPS', async () => {
  await using scene = await Scene.start();
  const other = createServer().listen(scene.httpsPort, '127.0.0.1');
  await once(other, 'listening');
  await using dataplane = await scene.dataplane();
  await dataplane.route('shop.test', scene.upstream.address, { https: 'internal' });
  const warning = await until('the warning', async () =>
    (JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] }).warnings.find((line) =>
      line.includes('authority'),
    ),
  );
  assert.match(
    warning,
    /the internal authority can't work: can't listen on \d+: something else listens there; name another with --https-port/,
  );
  assert.equal((await dataplane.visit('shop.test')).status, 200);
  other.close();
  await once(other, 'close');
  await until('the redirect', async () => (await dataplane.visit('shop.test')).status === 308);
  assert.match(await scene.get('shop.test'), /hello$/);
});

test('a Sluicefile asks for it in one site, or for all, and sluice certificates prints what there is to trust', async () => {
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
