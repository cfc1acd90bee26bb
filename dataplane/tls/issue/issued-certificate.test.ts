import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { CertificateGenerator } from '../internal/certificate-generator.ts';
import { IssueError } from './issue-error.ts';
import { readIssued } from './issued-certificate.ts';

const DAY = 86_400_000;
const NOW = Date.UTC(2026, 0, 10);
const GOOD = { notBefore: NOW - DAY, notAfter: NOW + DAY };
const OVER = { notBefore: NOW - 3 * DAY, notAfter: NOW - DAY };

const maker = await CertificateGenerator.load(systemRandom);
const root = await maker.root('an authority', GOOD);

const issue = async (name: string, life = GOOD) => ({ ...(await maker.leaf(name, life, root)), order: 'o', validatedBy: null });

function refused(issued: Awaited<ReturnType<typeof issue>>, reason: RegExp, held: typeof GOOD | null = null): void {
  assert.throws(
    () => readIssued('shop.test', issued, held, NOW),
    (error) => error instanceof IssueError && error.kind === 'refused' && reason.test(error.message),
  );
}

test('an issued certificate is accepted if it covers the name, even with a wildcard', async () => {
  assert.deepEqual(readIssued('shop.test', await issue('shop.test'), null, NOW).domains, ['shop.test']);
  assert.deepEqual(readIssued('a.shop.test', await issue('*.shop.test'), null, NOW).domains, ['*.shop.test']);
});

test('a certificate for another name or key, or one that cannot be parsed, is rejected', async () => {
  const good = await issue('shop.test');
  refused(await issue('other.test'), /^shop.test: the authority issued an unusable certificate: a certificate for other.test$/);
  refused({ ...good, privateKey: (await issue('shop.test')).privateKey }, /does not belong to the certificate/);
  refused({ ...good, certificate: 'hello' }, /it contains no certificate/);
  refused({ ...good, certificate: JSON.parse('{"a":1}') }, /not PEM/);
});

test('an issued certificate that is not valid now is accepted only if there is no valid one, since the clock may be wrong', async () => {
  const over = await issue('shop.test', OVER);
  refused(over, /from 2026-01-07\S+ until 2026-01-09\S+; check the clock/, GOOD);
  for (const held of [null, OVER]) assert.equal(readIssued('shop.test', over, held, NOW).notAfter, OVER.notAfter);
});

test('an issued certificate with hardly any lifetime is rejected: it would be renewed at once, without end', async () => {
  refused(await issue('shop.test', { notBefore: NOW, notAfter: NOW }), /from (\S+) until \1, which is less than a minute$/);
  refused(await issue('shop.test', { notBefore: NOW + DAY, notAfter: NOW }), /less than a minute$/);
  assert.equal(readIssued('shop.test', await issue('shop.test', { notBefore: NOW, notAfter: NOW + 60_000 }), null, NOW).notBefore, NOW);
});
