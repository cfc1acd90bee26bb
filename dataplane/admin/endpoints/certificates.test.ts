import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeChain, makePair } from '../../../shared/certificates/testing/pairs.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import type { CertificateRecord } from '../../../shared/wire/certificate.ts';
import { UnacknowledgedError } from '../../publish/publisher.ts';
import { CertificateAdmin } from '../../tls/certificate-admin.ts';
import type { OrderPlan } from '../../tls/issue/orders/order-plan.ts';
import { DirectoryStore } from '../../tls/store/directory-store.ts';
import { type Reply, RunningAdmin } from '../testing/running-admin.ts';

const clock = new ManualClock();
const DAY_MS = 86_400_000;
const times = { notBefore: clock.now() - DAY_MS, notAfter: clock.now() + DAY_MS };
const { middle, leaf } = await makeChain(['a.test', '*.a.test'], times);
const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

type Options = { plans?: Record<string, OrderPlan>; published?: () => Promise<void> };

async function start({ plans = {}, published = () => Promise.resolve() }: Options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'admin-certificates-'));
  folders.push(folder);
  const store = new DirectoryStore(folder, { clock, random: systemRandom, log: memoryLog() });
  const certificates = new CertificateAdmin({
    store,
    published,
    planFor: (name) => plans[name] ?? null,
    retry: (name) => plans[name]?.attempt !== undefined && plans[name]?.attempt !== null,
    wanted: () => Object.keys(plans),
    holdings: () => store.list(),
    internal: () => [],
  });
  const api = await RunningAdmin.start({ certificates });
  const push = (body: object | string): Promise<Reply> =>
    api.request('POST', '/certificates', { body: typeof body === 'string' ? body : JSON.stringify(body) });
  const list = async (): Promise<CertificateRecord[]> =>
    JSON.parse((await api.request('GET', '/certificates')).text) as CertificateRecord[];
  return { folder, store, api, push, list, [Symbol.asyncDispose]: () => api[Symbol.asyncDispose]() };
}

const GOOD = { domains: ['A.test', 'x.a.test'], certificate: middle.certificate + leaf.certificate, private_key: leaf.privateKey };
const messageOf = ({ text }: Reply): string => (JSON.parse(text) as { error: string }).error;

test('a posted pair is returned as a record, listed, replaced by one for the same domains, and deleted for all of them', async () => {
  await using api = await start();
  const created = await api.push(GOOD);
  assert.equal(created.status, 201, created.text);
  const record = JSON.parse(created.text) as CertificateRecord;
  const iso = (at: number): string => new Date(Math.floor(at / 1_000) * 1_000).toISOString();
  assert.match(record.serial ?? '', /^[0-9a-f]+$/);
  assert.deepEqual(
    { ...record, serial: '' },
    {
      domains: ['a.test', 'x.a.test'],
      source: 'pushed',
      issuer: 'E7 (Example Trust)',
      serial: '',
      not_before: iso(times.notBefore),
      not_after: iso(times.notAfter),
      renew_at: null,
      last_error: null,
      next_try: null,
    },
  );
  assert.equal((await api.push({ ...GOOD, domains: ['x.a.test', 'a.test', 'a.test'] })).status, 201);
  assert.equal((await api.list()).length, 1);
  const gone = await api.api.request('DELETE', '/certificates/X.A.TEST');
  assert.deepEqual([gone.status, JSON.parse(gone.text)], [200, { deleted: 'x.a.test', domains: ['a.test', 'x.a.test'] }]);
  const again = await api.api.request('DELETE', '/certificates/a.test');
  assert.deepEqual([again.status, messageOf(again)], [404, 'certificate not found']);
  assert.equal((await api.api.request('DELETE', '/certificates/')).status, 400);
  assert.deepEqual(await api.list(), []);
});

test('no response contains a private key, even one of a rejected pair', async () => {
  await using api = await start();
  const secret = leaf.privateKey.split('\n')[1] ?? '';
  const other = await makePair(['a.test'], times);
  for (const reply of [
    await api.push(GOOD),
    await api.push({ ...GOOD, certificate: other.certificate }),
    await api.push({ ...GOOD, certificate: GOOD.private_key }),
    await api.push(JSON.stringify(GOOD).slice(0, -2)),
    await api.api.request('GET', '/certificates'),
  ])
    assert.ok(!reply.text.includes(secret.slice(0, 16)), reply.text);
});

test('a pair that does not match is answered with 400 and the reason, and nothing is stored', async () => {
  await using api = await start();
  const other = await makePair(['b.test'], times);
  const over = await makePair(['a.test'], { notBefore: 0, notAfter: clock.now() - 1_000 });
  const cases: [object | string, RegExp][] = [
    ['[]', /^invalid JSON: expected an object/],
    [{ ...GOOD, domains: undefined }, /^invalid JSON: missing member domains/],
    [{ ...GOOD, domains: [] }, /^invalid JSON: domains: expected a list of 1 to 100/],
    [{ ...GOOD, domains: 'a.test' }, /^invalid JSON: domains/],
    [{ ...GOOD, domains: [5] }, /^invalid JSON: domains/],
    [{ ...GOOD, domains: ['a.test/../..'] }, /^invalid domain: /],
    [{ ...GOOD, certificate: undefined }, /^invalid JSON: missing member certificate/],
    [{ ...GOOD, private_key: 5 }, /^invalid JSON: private_key: expected a string/],
    [{ ...GOOD, domains: ['b.test'] }, /^invalid certificate: certificate: it does not cover b\.test, only a\.test, \*\.a\.test; leave/],
    [{ ...GOOD, domains: ['y.x.a.test'] }, /^invalid certificate: .*does not cover/],
    [{ ...GOOD, private_key: other.privateKey }, /^invalid certificate: private_key: the key does not belong to the certificate/],
    [{ ...GOOD, certificate: '' }, /^invalid certificate: certificate: it contains no certificate/],
    [
      { ...GOOD, domains: ['a.test'], certificate: over.certificate, private_key: over.privateKey },
      /^invalid certificate: .*good until 2023-/,
    ],
  ];
  for (const [body, message] of cases) {
    const reply = await api.push(body);
    assert.equal(reply.status, 400, reply.text);
    assert.match(messageOf(reply), message);
  }
  assert.deepEqual(readdirSync(api.folder), []);
});

test('a body over 64 KB is answered with 413', async () => {
  await using api = await start();
  assert.equal((await api.push({ ...GOOD, certificate: 'x'.repeat(65_536) })).status, 413);
});

test('the list shows the plan for automatic certificates, missing ones with the reason, and unusable files', async () => {
  const attempt = { nextTry: Date.UTC(2030, 0, 1), lastError: 'b.test: no address found' };
  await using api = await start({
    plans: {
      'a.test': { renewAt: Date.UTC(2029, 0, 1), attempt: null, waitsFor: null },
      'b.test': { renewAt: null, attempt, waitsFor: null },
      'new.test': { renewAt: null, attempt: null, waitsFor: null },
      'queued.test': { renewAt: null, attempt: null, waitsFor: 'too many new orders' },
    },
  });
  const pair = await makePair(['a.test'], times);
  mkdirSync(join(api.folder, 'acme/a.test'), { recursive: true });
  writeFileSync(join(api.folder, 'acme/a.test/cert.pem'), pair.certificate);
  writeFileSync(join(api.folder, 'acme/a.test/key.pem'), pair.privateKey);
  mkdirSync(join(api.folder, 'half'));
  writeFileSync(join(api.folder, 'half/cert.pem'), pair.certificate);
  const rows = (await api.list()).map(({ domains, source, serial, renew_at, last_error, next_try }) => [
    ...[domains.join(), source, serial !== null, renew_at, next_try],
    last_error?.replace(api.folder, '') ?? null,
  ]);
  assert.deepEqual(rows, [
    ['', 'file', false, null, null, '/half/key.pem is missing; put it there'],
    ['a.test', 'acme', true, '2029-01-01T00:00:00.000Z', null, null],
    ['b.test', 'acme', false, null, '2030-01-01T00:00:00.000Z', 'b.test: no address found'],
    ['queued.test', 'acme', false, null, null, 'its order waits behind others: too many new orders'],
  ]);
});

test('the root of the internal authority is returned as PEM, and without one the response says why', async () => {
  const pem = leaf.certificate;
  await using api = await RunningAdmin.start({ internalRoot: () => pem });
  const reply = await api.request('GET', '/certificates/root');
  assert.deepEqual([reply.status, reply.text, reply.headers['content-type']], [200, pem, 'application/pem-certificate-chain']);
  await using none = await RunningAdmin.start();
  const missing = await none.request('GET', '/certificates/root');
  assert.deepEqual([missing.status, messageOf(missing)], [404, 'no internal authority']);
  assert.equal((await none.request('GET', '/certificates/other')).status, 405);
});

test('workers that do not acknowledge are answered with 503, and so is a directory that cannot be written', async () => {
  await using silent = await start({ published: () => Promise.reject(new UnacknowledgedError('one worker is silent')) });
  const reply = await silent.push(GOOD);
  assert.deepEqual([reply.status, messageOf(reply)], [503, 'not served yet: one worker is silent']);
  await using broken = await start();
  writeFileSync(join(broken.folder, 'pushed'), 'a file where the folder should be');
  const unsaved = await broken.push(GOOD);
  assert.equal(unsaved.status, 503);
  assert.match(messageOf(unsaved), /^not saved: the certificate directory cannot be written \(E/);
});

test('POST retries an order that waits after a failure, and nothing else', async () => {
  const attempt = { nextTry: clock.now() + DAY_MS, lastError: 'no such host' };
  const plan = { renewAt: null, attempt: null, waitsFor: null };
  await using api = await start({ plans: { 'late.test': { ...plan, attempt }, 'fine.test': plan } });
  const retried = await api.api.request('POST', '/certificates/Late.test');
  assert.deepEqual([retried.status, JSON.parse(retried.text)], [202, { retried: 'late.test', domains: ['late.test'] }]);
  for (const domain of ['fine.test', 'other.test']) {
    const refused = await api.api.request('POST', `/certificates/${domain}`);
    assert.deepEqual([refused.status, messageOf(refused)], [404, 'no order waits for that domain']);
  }
  assert.equal((await api.api.request('POST', '/certificates/')).status, 400);
});
