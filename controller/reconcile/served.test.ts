import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Applied } from '../../shared/wire/apply.ts';
import { desire, type Listing } from '../desired/desire.ts';
import { sampleListing } from '../desired/testing/sample-listing.ts';
import type { ServedSnapshot } from '../sources/source.ts';
import type { DesiredState } from './reconciler.ts';
import { ServedSnapshots } from './served.ts';

/** What a source called `cluster` hears, as `domains: refused domains`. */
function hearing() {
  const heard: ServedSnapshot[] = [];
  const served = new ServedSnapshots([{ name: 'cluster', served: (one) => heard.push(one) }, { name: 'file' }]);
  const build = (listing: Listing, ...others: Listing[]): DesiredState => {
    const listings = [listing, ...others];
    const desired = desire(new Map(listings.map((one) => [one.source, { listing: one, errors: [] }])));
    const state = { desired, problems: desired.problems.map((problem) => ({ ...problem, since: '2026-01-01T00:00:00Z' })) };
    served.built(state, new Map(listings.map((one) => [one.source, one])));
    return state;
  };
  const words = () =>
    heard.map(({ snapshot, refused }) =>
      `${snapshot.routes.map(({ domain }) => domain).join(' ')}: ${[...refused.keys()].join(' ')}`.trim(),
    );
  return { served, build, words, heard };
}

const cluster = (...domains: string[]) => sampleListing(domains, { source: 'cluster' });

const acknowledged = (results: Applied['results'] = [], removed: string[] = []): Applied => ({
  ...{ instance: 'i', revision: 1, generation: 1, results, removed },
});
const applies = (state: DesiredState, applied = acknowledged(), whole = true) => ({ applied, whole, state });

test('a source hears of a snapshot once a data plane has acknowledged it, and once only', () => {
  const { served, build, words, heard } = hearing();
  const listing = cluster('a.example');
  const state = build(listing);
  assert.deepEqual(words(), []);
  served.applied('one', applies(state));
  served.applied('one', applies(state));
  assert.deepEqual(words(), ['a.example:']);
  assert.equal(heard[0]?.snapshot, listing);
});

test('of several data planes the one that is behind decides, unless its stream is closed', () => {
  const { served, build, words } = hearing();
  const first = build(cluster('a.example'));
  served.applied('one', applies(first));
  served.applied('two', applies(first));
  const second = build(cluster('a.example', 'b.example'));
  served.applied('one', applies(second));
  assert.deepEqual(words(), ['a.example:']);
  served.disconnected('two');
  assert.deepEqual(words(), ['a.example:', 'a.example b.example:']);
  served.disconnected('one');
  assert.equal(words().length, 2);
});

test('a snapshot that changes nothing is served at once, and so is one that needs no frame', () => {
  const { served, build, heard } = hearing();
  const first = build(cluster('a.example'));
  served.applied('one', applies(first));
  const again = cluster('a.example');
  served.built(first, new Map([['cluster', again]]));
  assert.equal(heard.at(-1)?.snapshot, again);
  const other = cluster('a.example');
  const unsent = build(other);
  assert.equal(heard.length, 2);
  served.unchanged('one', unsent);
  assert.equal(heard.at(-1)?.snapshot, other);
});

test('refused domains are named until they are accepted, and so are those of sources with precedence', () => {
  const { served, build, heard } = hearing();
  const state = build(cluster('a.example', 'b.example', 'c.example'), sampleListing(['c.example']));
  served.applied('one', applies(state, acknowledged([{ domain: 'a.example', result: 'rejected', reason: 'too odd' }])));
  assert.deepEqual(
    [...(heard.at(-1)?.refused ?? [])],
    [
      ['c.example', 'c.example belongs to file c.example, which takes precedence'],
      ['a.example', 'too odd'],
    ],
  );
  served.applied('one', applies(state, acknowledged([{ domain: 'b.example', result: 'conflicted' }]), false));
  assert.deepEqual([...(heard.at(-1)?.refused.keys() ?? [])], ['c.example', 'a.example', 'b.example']);
  served.applied('one', applies(state, acknowledged([{ domain: 'a.example', result: 'changed' }]), false));
  assert.deepEqual([...(heard.at(-1)?.refused.keys() ?? [])], ['c.example', 'b.example']);
  served.applied('one', applies(state));
  assert.deepEqual([...(heard.at(-1)?.refused.keys() ?? [])], ['c.example']);
});

test('a source that has not listed hears nothing of a state without it', () => {
  const { served, build, heard } = hearing();
  served.applied('one', applies(build(sampleListing(['a.example']))));
  assert.deepEqual(heard, []);
});
