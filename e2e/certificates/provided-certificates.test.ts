import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { CertificatesFixture } from '../../dataplane/traffic/testing/certificates.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Program, SLUICE } from '../testing/process.ts';
import { Upstream } from '../testing/upstream.ts';

/** The response over TLS for this name. @throws the error that ended the handshake. */
async function getSecurely(port: number, name: string, ca: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, servername: name, ca });
  await once(socket, 'secureConnect');
  socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}

test('a certificate placed in the directory and a posted one are presented immediately, and after a restart', async () => {
  using folder = new Folder();
  const authority = new CertificatesFixture();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const httpsPort = await freePort();
  const options = { stateDir: folder.file('state'), flags: ['--cert-dir', folder.file('certs'), '--https-port', `${httpsPort}`] };
  const see = (name: string) => until(name, () => getSecurely(httpsPort, name, authority.ca));
  {
    await using dataplane = await Dataplane.start(options);
    for (const name of ['shop.test', 'www.blog.test']) await dataplane.route(name, upstream.address);
    await assert.rejects(getSecurely(httpsPort, 'shop.test', authority.ca), /unrecognized name/i);
    const mine = authority.issue('shop.test');
    mkdirSync(folder.file('certs/mine'));
    writeFileSync(folder.file('certs/mine/privkey.pem'), mine.key);
    writeFileSync(folder.file('certs/mine/fullchain.pem'), mine.cert);
    assert.match(await see('shop.test'), /^HTTP\/1.1 200 OK\r\n[\s\S]*hello$/);
    const posted = authority.issue('*.blog.test');
    const body = { domains: ['*.blog.test'], certificate: posted.cert, private_key: posted.key };
    assert.equal((await dataplane.admin('POST', '/certificates', body)).status, 201);
    // A provided certificate redirects to HTTPS just as an ordered one does.
    for (const name of ['shop.test', 'www.blog.test'])
      assert.deepEqual((await dataplane.visit(name, '/a?b')).headers.location, `https://${name}:${httpsPort}/a?b`);
    assert.match(await getSecurely(httpsPort, 'www.blog.test', authority.ca), /hello$/);
  }
  await using again = await Dataplane.start(options);
  for (const name of ['shop.test', 'www.blog.test']) assert.match(await getSecurely(httpsPort, name, authority.ca), /hello$/);
  assert.equal((await again.admin('DELETE', '/certificates/*.blog.test')).status, 200);
  await assert.rejects(getSecurely(httpsPort, 'www.blog.test', authority.ca), /unrecognized name/i);
});

test('an unusable certificate directory prevents startup, with its name and the flag', async () => {
  using folder = new Folder();
  writeFileSync(folder.file('file'), '');
  const flags = ['--cert-dir', folder.file('file'), '--state-dir', folder.file('state'), '--http-port', `${await freePort()}`];
  const program = new Program(SLUICE, ['dataplane', ...flags, '--https-port', `${await freePort()}`]);
  assert.equal((await program.exited).code, 2);
  assert.match(
    program.stderr,
    /can't use the certificate directory .*file \(it is not a directory\); name another one with --cert-dir PATH\n$/,
  );
});

const mounts = process.getuid?.() !== 0 && 'mounts a disk, as root';

test('certificates on a read-only disk are presented, and storing one is rejected with the reason', {
  skip: mounts,
}, async () => {
  using folder = new Folder();
  const authority = new CertificatesFixture();
  await using upstream = await Upstream.start('app', (_, response) => response.end('hello'));
  const certs = folder.file('certs');
  const { cert, key } = authority.issue('shop.test');
  mkdirSync(`${certs}/mine`, { recursive: true });
  writeFileSync(`${certs}/mine/privkey.pem`, key);
  writeFileSync(`${certs}/mine/fullchain.pem`, cert);
  const httpsPort = await freePort();
  await using dataplane = await Dataplane.start({
    stateDir: folder.file('state'),
    flags: [
      '--cert-dir',
      certs,
      '--https-port',
      `${httpsPort}`,
      '--acme-email',
      'ops@example.com',
      '--acme-directory',
      'https://127.0.0.1:1/dir',
    ],
    command: ['unshare', '--mount', 'sh', '-c', `mount --bind -o ro ${certs} ${certs} && exec "$@"`, 'sh'],
  });
  const inWords = new RegExp(`can't write the certificate directory ${certs} \\(the file system is read-only\\)`);
  await dataplane.program.said(inWords);
  for (const name of ['shop.test', 'other.test']) await dataplane.route(name, upstream.address);
  assert.match(await until('the certificate', () => getSecurely(httpsPort, 'shop.test', authority.ca)), /hello$/);
  const posted = authority.issue('posted.test');
  const refused = await dataplane.admin('POST', '/certificates', {
    domains: ['posted.test'],
    certificate: posted.cert,
    private_key: posted.key,
  });
  assert.equal(refused.status, 503);
  assert.match(JSON.parse(refused.text).error, /^not saved: can&#39;t write the certificate directory .*--cert-dir PATH$/);
  const status = JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] };
  assert.ok(
    status.warnings.some((warning) => inWords.test(warning)),
    status.warnings.join(),
  );
  // No certificate is ordered that could not be stored.
  const reason = await until('the order to be refused', async () => {
    const explained = await dataplane.admin('GET', `/explain?url=${encodeURIComponent('https://other.test/')}`);
    const { certificate } = JSON.parse(explained.text) as { certificate: string };
    return certificate.includes('failed') ? certificate : null;
  });
  assert.match(reason, /certificate directory.*\(the file system is read-only\)/);
});
