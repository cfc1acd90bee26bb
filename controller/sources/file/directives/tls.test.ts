import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeChain, makePair } from '../../../../shared/certificates/testing/pairs.ts';
import { parseRoute } from '../../../../shared/route.ts';
import { type Compiled, compileBytes } from '../compile.ts';
import { formatDiagnostic } from '../diagnostics/diagnostics.ts';
import { filesOnDisk } from '../text/files.ts';

const folder = mkdtempSync(join(tmpdir(), 'tls-'));
after(() => rmSync(folder, { recursive: true }));
const put = (name: string, ...texts: string[]): void => writeFileSync(join(folder, name), texts.join(''));

const shop = await makePair(['shop.example', '*.shop.example', '192.0.2.7']);
const wiki = await makePair(['wiki.example', 'shop.example']);
put('shop.pem', shop.certificate);
put('shop.key', shop.privateKey);
put('both.pem', wiki.certificate, wiki.privateKey);
put('torn.pem', shop.certificate.slice(0, 200));

const compile = (text: string): Compiled => compileBytes(Buffer.from(text), 'Sluicefile', {}, filesOnDisk(folder));
const site = (addresses: string, ...lines: string[]): string => `${addresses} {\n${lines.join('\n')}\nrespond 200\n}\n`;

function unquoted(text: string): string[] {
  const compiled = compile(text);
  return (compiled.ok ? compiled.warnings : compiled.diagnostics).map(formatDiagnostic);
}

function good(text: string): Extract<Compiled, { ok: true }> {
  const compiled = compile(text);
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.diagnostics.map(formatDiagnostic).join('\n'));
  return compiled;
}

test('a site supplies its certificate for all its addresses, and none is ordered', () => {
  const { routes, certificates } = good(site('shop.example, www.shop.example', 'tls shop.pem shop.key'));
  assert.deepEqual(
    routes.map(({ https }) => https),
    ['provided', 'provided'],
  );
  assert.deepEqual(certificates, [
    { domains: ['shop.example', 'www.shop.example'], certificate: shop.certificate, private_key: shop.privateKey },
  ]);
  for (const route of routes) assert.deepEqual(parseRoute(route), { ok: true, value: route });
});

test('certificate and key may be in one file, and the paths come from the environment', () => {
  const text = site('wiki.example', 'tls {$PAIR} {$PAIR}');
  const compiled = compileBytes(Buffer.from(text), 'Sluicefile', { PAIR: join(folder, 'both.pem') }, filesOnDisk(folder));
  assert.ok(compiled.ok);
  assert.equal(compiled.certificates[0]?.private_key, wiki.privateKey);
});

test('the certificate of the catch-all is not used for the names of other sites', () => {
  const { certificates } = good(site('*', 'tls both.pem both.pem') + site('shop.example', 'tls shop.pem shop.key'));
  assert.deepEqual(
    certificates.map(({ domains }) => domains),
    [['wiki.example'], ['shop.example']],
  );
});

test('an unusable file is reported with its name, without quoting the key', () => {
  assert.deepEqual(unquoted(site('shop.example', 'tls torn.pem shop.key')), [
    'Sluicefile:2:5: tls "torn.pem": part 1 (CERTIFICATE) was cut off, so there is no certificate to use; provide the whole file',
  ]);
  const strange = unquoted(site('wiki.example', 'tls both.pem shop.key'));
  assert.deepEqual(strange, [
    'Sluicefile:2:14: tls "shop.key": the key does not belong to the certificate in "both.pem"; use the key that the certificate was issued for',
  ]);
  assert.deepEqual(unquoted(site('shop.example, wiki.example', 'tls shop.pem shop.key')), [
    'Sluicefile:2:5: tls "shop.pem": it is for shop.example, *.shop.example, 192.0.2.7, not for wiki.example',
  ]);
});

test('validity times cause only warnings', async () => {
  const over = await makePair(['a.example'], { notBefore: Date.parse('2001-01-01'), notAfter: Date.parse('2001-02-03') });
  put('over.pem', over.certificate, over.privateKey);
  assert.deepEqual(unquoted(site('a.example', 'tls over.pem over.pem')), [
    'Sluicefile:2:5: tls "over.pem": it expired on 2001-02-03; provide a newer one',
  ]);
  const early = await makePair(['a.example'], { notBefore: Date.parse('2990-01-01') });
  put('early.pem', early.certificate, early.privateKey);
  assert.match(unquoted(site('a.example', 'tls early.pem early.pem'))[0] ?? '', /it is not valid before 2990-01-01/);
});

test('a file of authorities needs a root, and a key in it is dropped', async () => {
  const { root, middle } = await makeChain(['x.example']);
  put('middle.pem', middle.certificate);
  assert.match(unquoted(site('a.example', 'tls {', 'client_ca middle.pem', '}'))[0] ?? '', /client_ca "middle.pem": it contains no root/);
  put('key.pem', root.privateKey);
  assert.match(unquoted(site('a.example', 'tls {', 'client_ca key.pem', '}'))[0] ?? '', /it contains no certificate/);
  put('all.pem', root.privateKey, root.certificate, 'words\n', middle.certificate);
  for (const head of ['tls', 'tls internal', 'tls both.pem both.pem']) {
    const { routes } = good(site('wiki.example', `${head} {`, 'client_ca all.pem', '}'));
    assert.deepEqual(routes[0]?.client_auth, { ca: root.certificate + middle.certificate });
  }
});
