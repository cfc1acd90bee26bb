import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleListing } from '../desired/testing/sample-listing.ts';
import { type Guarded, guardListing } from './removal-guard.ts';

const domains = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `s${from + at}.example`);
const first = (count: number): Guarded => guardListing(null, sampleListing(domains(count)), 0, false);
const served = ({ listing }: Guarded) => listing.routes.map((route) => route.domain as string).sort();

test('the removal of exactly half is applied at once', () => {
  assert.equal(guardListing(first(40), sampleListing(domains(20)), 1, false).held.size, 0);
});

test('the removal of ten of eleven is applied at once, since so few are never suspicious', () => {
  assert.equal(guardListing(first(11), sampleListing(domains(1)), 1, false).held.size, 0);
});

test('the removal of more than half and more than ten waits, while new routes are served', () => {
  const guarded = guardListing(first(20), sampleListing(['new.example', ...domains(9)]), 1, false);
  assert.equal(guarded.held.size, 11);
  assert.deepEqual(served(guarded), ['new.example', ...domains(20)].sort());
});

test('an empty listing removes nothing at first', () => {
  assert.equal(served(guardListing(first(20), sampleListing([]), 1, false)).length, 20);
});

test('a second listing that confirms it 5 s later removes them', () => {
  const held = guardListing(first(20), sampleListing([]), 1_000, false);
  const early = guardListing(held, sampleListing([]), 5_999, false);
  assert.equal(served(early).length, 20);
  assert.equal(served(guardListing(early, sampleListing([]), 6_000, false)).length, 0);
});

test('a listing that is repeated without some targets, since there is no newer one, confirms nothing', () => {
  const held = guardListing(first(20), sampleListing([]), 0, false);
  const repeated = guardListing(held, { ...sampleListing([]), repeated: true }, 6_000, false);
  assert.equal(served(repeated).length, 20);
  assert.equal(served(guardListing(repeated, sampleListing([]), 6_001, false)).length, 0);
});

test('a second listing that contains them again keeps them', () => {
  const held = guardListing(first(20), sampleListing([]), 0, false);
  const back = guardListing(held, sampleListing(domains(20)), 5_000, false);
  assert.deepEqual([back.held.size, served(back).length], [0, 20]);
});

test('a second listing removes only routes missing from both, however many', () => {
  const held = guardListing(first(40), sampleListing(domains(20, 20).slice(0, 10)), 0, false);
  const second = guardListing(held, sampleListing(domains(15)), 5_000, false);
  for (const domain of domains(10, 30)) assert.ok(!served(second).includes(domain), `${domain} was missing twice`);
  for (const domain of domains(10, 20)) assert.ok(served(second).includes(domain), `${domain} was missing once`);
});

test('a reload confirms the removals of an earlier listing, but not its own', () => {
  const asked = guardListing(first(20), sampleListing([]), 0, true);
  assert.equal(served(asked).length, 20);
  assert.equal(served(guardListing(asked, sampleListing([]), 1, true)).length, 0);
});

test('a route with a pending removal keeps its certificate', () => {
  const pair = { certificate: 'chain', private_key: 'key' };
  const certificates = ['s0.example', 'gone.example'].map((domain) => ({ domains: [domain], ...pair }));
  const before = guardListing(null, sampleListing(domains(20), { certificates }), 0, false);
  const held = guardListing(before, sampleListing(['new.example']), 1, false);
  assert.deepEqual(held.listing.certificates, [{ domains: ['s0.example'], ...pair }]);
});
