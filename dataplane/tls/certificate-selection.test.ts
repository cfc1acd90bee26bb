import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { CertificateSelection } from './certificate-selection.ts';
import type { CertificateSource, StoredCertificate } from './store/cert-store.ts';

const DAY_MS = 86_400_000;

class Selection {
  readonly clock = new ManualClock();
  readonly known = new CertificateSelection(this.clock);
  readonly told: string[] = [];

  constructor() {
    this.known.onChange((changes) => this.told.push(...changes.map(({ name, certificate }) => `${name}=${certificate?.id ?? 'none'}`)));
  }

  put(
    id: string,
    domains: string[],
    { source = 'acme', from = -1, until = 30 }: { source?: CertificateSource; from?: number; until?: number } = {},
  ): void {
    const now = this.clock.now();
    const times = { notBefore: now + from * DAY_MS, notAfter: now + until * DAY_MS };
    const certificate: StoredCertificate = {
      id,
      source,
      domains,
      issuer: 'x',
      serial: '1',
      savedAt: now,
      order: null,
      ariId: null,
      ...times,
    };
    this.known.update({ put: [certificate], removed: [] });
  }

  find(...names: string[]): (string | undefined)[] {
    return names.map((name) => this.known.find(name)?.id);
  }

  /** The changes reported since the last call. */
  news(): string[] {
    return this.told.splice(0).sort();
  }
}

test('the exact name is preferred, then the wildcard over one label', () => {
  const selection = new Selection();
  selection.put('exact', ['a.test', 'x.a.test']);
  selection.put('wild', ['*.a.test']);
  assert.deepEqual(selection.find('a.test', 'x.a.test', 'y.a.test', 'z.y.a.test', 'b.test', 'test'), [
    'exact',
    'exact',
    'wild',
    undefined,
    undefined,
    undefined,
  ]);
});

test('one that is not valid leaves its name to a valid one of the wildcard, for as long as there is one', () => {
  const selection = new Selection();
  selection.put('old', ['a.a.test'], { until: 2 });
  selection.put('other', ['b.a.test'], { until: 90 });
  selection.put('wild', ['*.a.test'], { source: 'file', until: 5 });
  selection.news();
  selection.clock.pass(2 * DAY_MS + 60_000);
  assert.deepEqual(selection.news(), ['a.a.test=none']);
  assert.deepEqual(selection.find('a.a.test', 'b.a.test', 'c.a.test'), ['wild', 'other', 'wild']);
  assert.equal(selection.known.ownOf('a.a.test')?.id, 'old');
  selection.known.update({ put: [], removed: ['wild'] });
  assert.deepEqual(selection.news(), ['*.a.test=none', 'a.a.test=old'], 'without it, the browser shows what is wrong');
  selection.put('ours', ['*.a.test'], { source: 'internal' });
  assert.deepEqual(selection.find('a.a.test'), ['old'], 'a public one is not replaced by one that few trust');
  selection.known.update({ put: [], removed: ['ours'] });
  selection.put('next', ['*.a.test'], { until: 3 });
  assert.deepEqual(selection.find('a.a.test'), ['next']);
  selection.clock.pass(4 * DAY_MS);
  assert.deepEqual(selection.find('a.a.test'), ['old'], 'that of the wildcard has expired, too');
  selection.put('new', ['a.a.test'], { from: 0 });
  assert.deepEqual(selection.find('a.a.test'), ['new']);
});

test('of several certificates for a name, a currently valid one wins, then a provided one, then an internal one, then the one that expires last', () => {
  const selection = new Selection();
  selection.put('over', ['a.test'], { source: 'file', from: -90, until: -1 });
  assert.deepEqual(selection.find('a.test'), ['over']);
  selection.put('30 days', ['a.test'], { until: 30 });
  selection.put('60 days', ['a.test'], { until: 60 });
  selection.put('45 days', ['a.test'], { until: 45 });
  assert.deepEqual(selection.find('a.test'), ['60 days']);
  selection.put('internal', ['a.test'], { source: 'internal', until: 20 });
  assert.deepEqual(selection.find('a.test'), ['internal']);
  for (const source of ['pushed', 'applied', 'file'] as const) {
    selection.put('provided', ['a.test'], { source, until: 10 });
    assert.deepEqual(selection.find('a.test'), ['provided'], source);
  }
  selection.put('later', ['a.test'], { source: 'file', from: 1, until: 90 });
  assert.deepEqual(selection.find('a.test'), ['provided']);
});

test('a certificate that becomes valid or expires changes the selection without any other event', () => {
  const selection = new Selection();
  selection.put('provided', ['a.test'], { source: 'pushed', until: 2 });
  selection.put('ours', ['a.test'], { until: 30 });
  selection.put('next', ['a.test'], { source: 'pushed', from: 4, until: 90 });
  assert.deepEqual(selection.news(), ['a.test=provided']);
  selection.clock.pass(2 * DAY_MS + 60_000);
  assert.deepEqual(selection.news(), ['a.test=ours']);
  selection.clock.pass(2 * DAY_MS);
  assert.deepEqual(selection.news(), ['a.test=next']);
});

test('only names with a different certificate are reported', () => {
  const selection = new Selection();
  selection.put('one', ['a.test', 'b.test']);
  assert.deepEqual(selection.news(), ['a.test=one', 'b.test=one']);
  selection.put('worse', ['a.test'], { until: 5 });
  assert.deepEqual(selection.news(), []);
  selection.put('one', ['b.test', 'c.test']);
  assert.deepEqual(selection.news(), ['a.test=worse', 'b.test=one', 'c.test=one']);
  selection.known.update({ put: [], removed: ['one', 'never'] });
  assert.deepEqual(selection.news(), ['b.test=none', 'c.test=none']);
  assert.deepEqual(selection.find('a.test', 'b.test'), ['worse', undefined]);
  assert.deepEqual(
    [...selection.known.all()].map(({ id }) => id),
    ['worse'],
  );
});

test('the right one of 10,000 certificates is selected', () => {
  const selection = new Selection();
  const now = selection.clock.now();
  const put = Array.from({ length: 10_000 }, (_, number) => ({
    ...{ id: `acme/n${number}.test`, source: 'acme' as const, domains: [`n${number}.test`], issuer: 'x', serial: '1' },
    ...{ notBefore: now, notAfter: now + DAY_MS, savedAt: now, order: null, ariId: null },
  }));
  selection.known.update({ put, removed: [] });
  assert.deepEqual(selection.find('n9999.test'), ['acme/n9999.test']);
});
