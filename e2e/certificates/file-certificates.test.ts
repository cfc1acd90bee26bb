import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { connect, type PeerCertificate } from 'node:tls';
import { type MadePair, makePair } from '../../shared/certificates/testing/pairs.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import type { Applied } from '../../shared/wire/apply.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { Dataplane, Folder, frame, NDJSON } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { Pair } from '../testing/pair.ts';
import { freePort } from '../testing/ports.ts';
import { run } from '../testing/process.ts';

const authority = await makePair([], { subject: 'CN=tests', authority: true });
const pairFor = (...names: string[]): Promise<MadePair> => makePair(names, { signer: authority.signs });
const keyLines = ({ privateKey }: MadePair): string => privateKey.split('\n')[1] ?? '';

/** The certificate and response that a visitor of this name gets. @throws the error that ended the handshake. */
async function visit(port: number, name: string): Promise<{ serial: string; answer: string }> {
  const socket = connect({ host: '127.0.0.1', port, servername: name, ca: authority.certificate });
  await once(socket, 'secureConnect');
  const { serialNumber }: PeerCertificate = socket.getPeerCertificate();
  socket.write(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
  let answer = '';
  for await (const chunk of socket) answer += String(chunk);
  return { serial: serialNumber.toLowerCase(), answer };
}

const serialOf = async (pair: MadePair): Promise<string> => {
  const { X509Certificate } = await import('node:crypto');
  return new X509Certificate(pair.certificate).serialNumber.toLowerCase();
};

describe('with certificates that the config file names', () => {
  const folder = new Folder();
  let httpsPort: number;
  let pair: Pair;
  before(async () => {
    httpsPort = await freePort();
    pair = await Pair.start(folder, '', { flags: ['--https-port', `${httpsPort}`] });
  });
  after(async () => {
    await pair?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a certificate named in the file is presented, reloaded when it changes on disk, and removed with its line', async () => {
    const [first, second] = [await pairFor('shop.test', 'www.shop.test'), await pairFor('shop.test', 'www.shop.test')];
    const put = (part: 'certificate' | 'privateKey', pair: MadePair) => writeFileSync(folder.file(`shop.${part}`), pair[part]);
    put('certificate', first);
    put('privateKey', first);
    const site = (line: string) => `shop.test, www.shop.test {\n  ${line}\n  respond "shop"\n}\nplain.test {\n  respond "plain"\n}\n`;
    const named = site('tls shop.certificate shop.privateKey');
    await pair.serve(named);
    for (const name of ['shop.test', 'www.shop.test']) {
      const { serial, answer } = await visit(httpsPort, name);
      assert.equal(serial, await serialOf(first));
      assert.match(answer, /^HTTP\/1.1 200 [\s\S]*shop$/);
    }
    const plain = await pair.visit('shop.test', '/x?y');
    assert.deepEqual([plain.status, plain.headers.location], [308, `https://shop.test:${httpsPort}/x?y`]);
    assert.equal((await pair.visit('plain.test')).status, 200);
    const listed = await pair.admin('/certificates');
    const [record] = JSON.parse(listed.text) as CertificateRecord[];
    assert.deepEqual([record?.domains, record?.source, record?.renew_at], [['shop.test', 'www.shop.test'], 'applied', null]);
    assert.ok(!listed.text.includes('PRIVATE') && !listed.text.includes(keyLines(first)));

    // With half of a new pair, the good one stays and the error is reported.
    put('certificate', second);
    await until('the error to be reported', async () =>
      (await pair.admin('/status')).text.includes('the key does not belong to the certificate'),
    );
    assert.match((await pair.command('status')).stdout, /the key does not belong to the certificate/);
    assert.equal((await visit(httpsPort, 'shop.test')).serial, await serialOf(first));
    put('privateKey', second);
    await until('the new pair', async () => (await visit(httpsPort, 'shop.test')).serial === (await serialOf(second)));

    pair.write(site(''));
    await until('it to end', async () => (await pair.visit('shop.test')).status === 200);
    await until('no certificate', async () => (await pair.admin('/certificates')).text === '[]');
    await assert.rejects(visit(httpsPort, 'shop.test'), /unrecognized name/i);
  });

  test('diff shows certificates before they are applied, and no command prints a key', async () => {
    const [first, second] = [await pairFor('shop.test'), await pairFor('shop.test')];
    const write = (name: string, { certificate, privateKey }: MadePair) => writeFileSync(folder.file(name), certificate + privateKey);
    write('first.pem', first);
    write('second.pem', second);
    const line = (name: string) => `  tls ${name} ${name}\n`;
    await pair.serve(`shop.test {\n${line('first.pem')}  respond "shop"\n}\n`);
    const diff = async (by: string) => {
      writeFileSync(folder.file('next'), readFileSync(pair.file, 'utf8').replace(line('first.pem'), by));
      return pair.command('diff', '--config', folder.file('next'));
    };
    assert.deepEqual((await diff(line('first.pem'))).stdout, 'Nothing would change.\n');
    const changed = await diff(line('second.pem'));
    assert.equal(changed.code, 3);
    assert.match(changed.stdout, /^~ certificate of shop\.test$/m);
    assert.match((await diff('')).stdout, /^- certificate of shop\.test$/m);
    for (const [command, ...more] of [['adapt', '--secrets'], ['validate', '--json'], ['fmt']] as const) {
      const { stdout, stderr } = await run([command, ...more, '--config', folder.file('next')]);
      assert.ok(!(stdout + stderr).includes('PRIVATE KEY'), command);
    }
    assert.ok(!pair.program.output.includes(keyLines(first)), 'the log');
  });
});

test('applied certificates survive the controller and the process, and a bad one affects only its own site', async () => {
  using folder = new Folder();
  const httpsPort = await freePort();
  const flags = ['--https-port', `${httpsPort}`];
  const options = { stateDir: folder.file('state'), flags };
  const [a, b, other] = [await pairFor('a.test'), await pairFor('b.test'), await pairFor('other.test')];
  const lines = (revision: number, certificates: readonly (readonly [domain: string, pair: MadePair])[]): string => {
    const routes = ['a.test', 'b.test'].map((domain) => ({
      ...{ domain, upstream: null, https: 'provided' },
      respond: { status: 200, body: `${domain} ${revision}` },
    }));
    const added = certificates.map(([domain, { certificate, privateKey }]) => ({
      certificate: { domains: [domain], certificate, private_key: privateKey, source: 'file' },
    }));
    const text = frame(revision, routes);
    return text.replace('{"end"', `${added.map((line) => `${JSON.stringify(line)}\n`).join('')}{"end"`);
  };
  {
    await using dataplane = await Dataplane.start(options);
    const apply = async (text: string): Promise<Applied> => {
      const answer = await dataplane.admin('POST', '/routes', text, NDJSON);
      assert.equal(answer.status, 200, answer.text);
      assert.ok(!answer.text.includes('PRIVATE'));
      return (JSON.parse(answer.text) as { applied: Applied }).applied;
    };
    const first = await apply(lines(1, [['a.test', a]]));
    // The first handshake after the response.
    assert.match((await visit(httpsPort, 'a.test')).answer, /a\.test 1$/);
    assert.deepEqual(first.certificates, [{ domains: ['a.test'], result: 'added' }]);
    const second = await apply(
      lines(2, [
        ['a.test', other],
        ['b.test', b],
      ]),
    );
    assert.deepEqual(
      second.certificates?.map(({ domains, result }) => [domains[0], result]),
      [
        ['a.test', 'rejected'],
        ['b.test', 'added'],
      ],
    );
    assert.match(second.certificates?.[0]?.reason ?? '', /does not cover a\.test, only other\.test/);
    assert.equal((await visit(httpsPort, 'a.test')).serial, await serialOf(a));
    const { warnings } = JSON.parse((await dataplane.admin('GET', '/status')).text) as { warnings: string[] };
    assert.ok(warnings.some((warning) => /^the certificate for a\.test that controller "tests" sent is not used: /.test(warning)));
    assert.match((await visit(httpsPort, 'b.test')).answer, /b\.test 2$/);
    const malformed = { certificate: { domains: ['a.test'], certificate: 'x', source: 'file' } };
    const refused = await dataplane.admin(
      'POST',
      '/routes',
      frame(3, []).replace('{"end"', `${JSON.stringify(malformed)}\n{"end"`),
      NDJSON,
    );
    assert.equal(refused.status, 400);
    assert.match(refused.text, /certificate: private_key/);
  }
  assert.equal(statSync(folder.file('state/certificates/applied/a.test/key.pem')).mode & 0o777, 0o600);
  await using again = await Dataplane.start(options);
  assert.match((await visit(httpsPort, 'a.test')).answer, /a\.test 2$/);
  assert.equal((await again.admin('POST', '/routes', lines(3, [['b.test', b]]), NDJSON)).status, 200);
  await assert.rejects(visit(httpsPort, 'a.test'), /unrecognized name/i);
  assert.ok(!existsSync(folder.file('state/certificates/applied/a.test')));
  assert.equal((await visit(httpsPort, 'b.test')).serial, await serialOf(b));
  assert.equal((await ask({ port: again.httpPort }, '/', { headers: { host: 'b.test' } })).status, 308);
  assert.ok(readFileSync(folder.file('state/certificates/applied/b.test/cert.pem'), 'utf8').startsWith('-----BEGIN'));
});
