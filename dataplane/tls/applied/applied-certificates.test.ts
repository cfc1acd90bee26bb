import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { memoryLog } from '../../../shared/runtime/log.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { type Apply, applySchema, type CertificateOutcome, type FrameCertificates } from '../../../shared/wire/apply.ts';
import { CertificateSelection } from '../certificate-selection.ts';
import { DirectoryStore } from '../store/directory-store.ts';
import { AppliedCertificates, type CertificatesFrame } from './applied-certificates.ts';

type Said = Partial<FrameCertificates> & Partial<Pick<Apply, 'controller' | 'based_on' | 'sources'>>;

const frame = ({ controller = 'one', based_on = null, sources = ['file'], ...said }: Said): CertificatesFrame => ({
  header: applySchema.parse({ controller, epoch: 1, revision: 1, based_on, sources }),
  certificates: { brought: [], rejected: [], removed: [], ...said },
});

async function pairFor(...names: string[]): Promise<Certificate> {
  const { certificate, privateKey } = await makePair(names);
  const read = readCertificate(certificate, privateKey);
  if (!read.ok) throw new Error(read.reason);
  return read.value;
}

const brought = (pair: Certificate, domains: readonly string[] = pair.domains, source = 'file') => ({ domains, source, pair });
const results = (outcomes: readonly CertificateOutcome[]): string[] =>
  outcomes.map(({ domains, result, reason = '' }) => `${domains} ${result} ${reason}`.trim());

async function opened(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'applied-'));
  const edge = { clock: new ManualClock(), random: systemRandom, log: memoryLog(), instance: 'test' };
  const store = new DirectoryStore(folder, edge, ['applied']);
  const known = new CertificateSelection(edge.clock);
  store.watch((change) => known.update(change));
  known.update({ put: (await store.list()).certificates, removed: [] });
  t.after(async () => {
    known.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const applied = new AppliedCertificates({ store, held: () => known.all(), published: async () => undefined });
  const apply = async (said: Said): Promise<string[]> => {
    const one = frame(said);
    return results([...(await applied.apply(one)), ...(await applied.remove(one))]);
  };
  return { folder, known, apply };
}

test('a whole truth brings what it names, leaves what is the same, and takes away the rest of its sources', async (t) => {
  const { folder, known, apply } = await opened(t);
  const [a, b, newer] = [await pairFor('a.test'), await pairFor('b.test'), await pairFor('a.test')];
  assert.deepEqual(await apply({ brought: [brought(a), brought(b)] }), ['a.test added', 'b.test added']);
  assert.equal(known.find('a.test')?.serial, a.serial);
  assert.equal(statSync(join(folder, 'applied/a.test/key.pem')).mode & 0o777, 0o600);
  assert.deepEqual(await apply({ brought: [brought(a), brought(b)] }), ['a.test unchanged', 'b.test unchanged']);
  assert.deepEqual(await apply({ brought: [], sources: ['docker'] }), []);
  assert.deepEqual(await apply({ brought: [brought(newer)] }), ['a.test changed', 'b.test removed']);
  assert.equal(known.find('a.test')?.serial, newer.serial);
  assert.deepEqual(readdirSync(join(folder, 'applied')), ['a.test']);
});

test('a difference takes away by name only', async (t) => {
  const { known, apply } = await opened(t);
  await apply({ brought: [brought(await pairFor('a.test')), brought(await pairFor('b.test', 'c.test'))] });
  assert.deepEqual(await apply({ based_on: 1, brought: [] }), []);
  assert.deepEqual(await apply({ based_on: 1, removed: [{ domains: ['c.test', 'b.test'], source: 'file' }] }), ['b.test,c.test removed']);
  assert.equal(known.find('c.test'), null);
  assert.ok(known.find('a.test'));
});

test('one that was rejected keeps the last good one for its domains', async (t) => {
  const { known, apply } = await opened(t);
  const a = await pairFor('a.test');
  await apply({ brought: [brought(a)] });
  const outcome = await apply({ rejected: [{ domains: ['a.test'], reason: 'it is torn' }], brought: [brought(await pairFor('b.test'))] });
  assert.deepEqual(outcome, ['a.test rejected it is torn', 'b.test added']);
  assert.equal(known.find('a.test')?.serial, a.serial);
});

test('two controllers never take a domain from each other', async (t) => {
  const { known, apply } = await opened(t);
  const a = await pairFor('a.test', 'b.test');
  await apply({ brought: [brought(a)] });
  const theirs = await apply({ controller: 'two', brought: [brought(await pairFor('b.test'))] });
  assert.deepEqual(theirs, ['b.test conflicted it belongs to controller "one"']);
  assert.equal(known.find('b.test')?.serial, a.serial);
});

test('a domain that moves from one source to another has no gap', async (t) => {
  const { known, apply } = await opened(t);
  const a = await pairFor('a.test');
  await apply({ brought: [brought(a)] });
  assert.deepEqual(await apply({ sources: ['file', 'kubernetes'], brought: [brought(a, a.domains, 'kubernetes')] }), ['a.test changed']);
  assert.deepEqual(await apply({ sources: ['file'], brought: [] }), []);
  assert.ok(known.find('a.test'));
});
