import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Certificate, readCertificate } from '../../../shared/certificates/certificate.ts';
import { makePair } from '../../../shared/certificates/testing/pairs.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { type Apply, applySchema, type CertificateOutcome, type FrameCertificates } from '../../../shared/wire/apply.ts';
import { CertificateSelection } from '../certificate-selection.ts';
import { DirectoryStore } from '../store/directory-store.ts';
import { AppliedCertificates, type CertificatesFrame } from './applied-certificates.ts';

type FrameParts = Partial<FrameCertificates> & Partial<Pick<Apply, 'controller' | 'based_on' | 'sources'>>;

const frame = ({ controller = 'one', based_on = null, sources = ['file'], ...said }: FrameParts): CertificatesFrame => ({
  header: applySchema.parse({ controller, epoch: 1, revision: 1, based_on, sources }),
  certificates: { accepted: [], rejected: [], removed: [], ...said },
});

async function pairFor(...names: string[]): Promise<Certificate> {
  const { certificate, privateKey } = await makePair(names);
  const read = readCertificate(certificate, privateKey);
  if (!read.ok) throw new Error(read.reason);
  return read.value;
}

const line = (pair: Certificate, domains: readonly string[] = pair.domains, source = 'file') => ({ domains, source, pair });
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
  const applied = new AppliedCertificates({ ...edge, store, held: () => known.all(), published: async () => undefined });
  const apply = async (said: FrameParts): Promise<string[]> => {
    const one = frame(said);
    return results([...(await applied.apply(one)), ...(await applied.remove(one))]);
  };
  return { folder, known, apply, applied, edge, store };
}

test('a full frame stores its certificates, leaves identical ones alone, and removes the others of its sources', async (t) => {
  const { folder, known, apply } = await opened(t);
  const [a, b, newer] = [await pairFor('a.test'), await pairFor('b.test'), await pairFor('a.test')];
  assert.deepEqual(await apply({ accepted: [line(a), line(b)] }), ['a.test added', 'b.test added']);
  assert.equal(known.find('a.test')?.serial, a.serial);
  assert.equal(statSync(join(folder, 'applied/a.test/key.pem')).mode & 0o777, 0o600);
  assert.deepEqual(await apply({ accepted: [line(a), line(b)] }), ['a.test unchanged', 'b.test unchanged']);
  assert.deepEqual(await apply({ accepted: [], sources: ['docker'] }), []);
  assert.deepEqual(await apply({ accepted: [line(newer)] }), ['a.test changed', 'b.test removed']);
  assert.equal(known.find('a.test')?.serial, newer.serial);
  assert.deepEqual(readdirSync(join(folder, 'applied')), ['a.test']);
});

test('a delta removes only what it names', async (t) => {
  const { known, apply } = await opened(t);
  await apply({ accepted: [line(await pairFor('a.test')), line(await pairFor('b.test', 'c.test'))] });
  assert.deepEqual(await apply({ based_on: 1, accepted: [] }), []);
  assert.deepEqual(await apply({ based_on: 1, removed: [{ domains: ['c.test', 'b.test'], source: 'file' }] }), ['b.test,c.test removed']);
  assert.equal(known.find('c.test'), null);
  assert.ok(known.find('a.test'));
});

test('a rejected certificate leaves the last good one for its domains in place', async (t) => {
  const { known, apply } = await opened(t);
  const a = await pairFor('a.test');
  await apply({ accepted: [line(a)] });
  const outcome = await apply({
    rejected: [{ domains: ['a.test'], reason: 'it is truncated' }],
    accepted: [line(await pairFor('b.test'))],
  });
  assert.deepEqual(outcome, ['a.test rejected it is truncated', 'b.test added']);
  assert.equal(known.find('a.test')?.serial, a.serial);
});

test('two controllers never take a certificate’s domain from each other', async (t) => {
  const { known, apply } = await opened(t);
  const a = await pairFor('a.test', 'b.test');
  await apply({ accepted: [line(a)] });
  const theirs = await apply({ controller: 'two', accepted: [line(await pairFor('b.test'))] });
  assert.deepEqual(theirs, ['b.test conflicted it belongs to controller "one"']);
  assert.equal(known.find('b.test')?.serial, a.serial);
});

test('a domain that moves between sources always has a certificate', async (t) => {
  const { known, apply } = await opened(t);
  const a = await pairFor('a.test');
  await apply({ accepted: [line(a)] });
  assert.deepEqual(await apply({ sources: ['file', 'kubernetes'], accepted: [line(a, a.domains, 'kubernetes')] }), ['a.test changed']);
  assert.deepEqual(await apply({ sources: ['file'], accepted: [] }), []);
  assert.ok(known.find('a.test'));
});

test('a certificate that could not be deleted is deleted as soon as that is possible, unless it is wanted again', async (t) => {
  const { folder, known, apply, applied, edge, store } = await opened(t);
  const [a, b] = [await pairFor('a.test'), await pairFor('b.test')];
  await apply({ accepted: [line(a), line(b)] });
  const remove = store.delete.bind(store);
  store.delete = () => Promise.reject(Object.assign(new Error('no'), { code: 'EROFS' }));
  const failed = (name: string): string => `${name} rejected it can't be deleted: the file system is read-only`;
  assert.deepEqual(await apply({ accepted: [] }), [failed('a.test'), failed('b.test')]);
  edge.clock.pass(30_000);
  assert.deepEqual(await apply({ based_on: 1, accepted: [line(b)] }), ['b.test unchanged']);
  assert.ok(known.find('a.test'));
  store.delete = remove;
  applied.pause();
  edge.clock.pass(30_000);
  assert.deepEqual(await apply({ based_on: 1, accepted: [] }), []);
  assert.ok(known.find('a.test'), 'another process has them');
  applied.resume();
  edge.clock.pass(30_000);
  assert.deepEqual(await apply({ based_on: 1, accepted: [] }), []);
  assert.deepEqual([known.find('a.test'), known.find('b.test')?.serial], [null, b.serial]);
  assert.deepEqual(readdirSync(join(folder, 'applied')), ['b.test']);
  const said = edge.log.lines.map(({ message }) => message).filter((message) => message.startsWith('a certificate that a controller'));
  assert.equal(said.length, 3);
});

test('a frame with many certificates looks through the others once, and lets other work be done in between', async (t) => {
  const { edge, store, known } = await opened(t);
  let looks = 0;
  const clock = new (class extends ManualClock {
    private reads = 0;
    override monotonic = (): number => this.reads++;
  })();
  const held = () => {
    looks++;
    return known.all();
  };
  const applied = new AppliedCertificates({ ...edge, clock, store, held, published: async () => undefined });
  const pair = await pairFor('*.a.test');
  const accepted = Array.from({ length: 50 }, (_, nth) => line(pair, [`n${nth}.a.test`]));
  await applied.apply(frame({ accepted }));
  looks = 0;
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const outcomes = await applied.apply(frame({ accepted }));
  isOver = true;
  assert.ok(outcomes.every(({ result }) => result === 'unchanged'));
  assert.equal(looks, 1);
  assert.ok(turns >= 5, `${turns} turns`);
});
