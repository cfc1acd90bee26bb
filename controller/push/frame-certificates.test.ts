import assert from 'node:assert/strict';
import { test } from 'node:test';
import { desire } from '../desired/desire.ts';
import { sampleListing } from '../desired/testing/sample-listing.ts';
import type { Truth } from '../reconcile/reconciler.ts';
import { difference, type Frame, wholeTruth } from './frame.ts';

const WHO = { controller: 'c', epoch: 1, reload: false };

/** What a file wants that brings these: a certificate's text by the domains that it is for. */
function truthOf(brought: Readonly<Record<string, string>>): Truth {
  const certificates = Object.entries(brought).map(([domains, certificate]) => ({
    ...{ domains: domains.split(' '), certificate, private_key: 'key' },
  }));
  const listing = sampleListing(['a.example'], { certificates });
  return { desired: desire(new Map([['file', { listing, errors: [] }]])), problems: [] };
}

/** The lines of a frame, each as its kind and what it is about. */
const linesOf = (frame: Frame | undefined): string[] =>
  [...(frame?.lines ?? [])].map((text) => {
    const [[kind = '', value] = []] = Object.entries(JSON.parse(text) as Record<string, { domains?: string[]; certificate?: string }>);
    return [kind, value?.domains?.join(' '), value?.certificate].filter(Boolean).join(' ');
  });

test('a whole truth brings every certificate, before the routes', () => {
  const lines = linesOf(wholeTruth(WHO, 1, truthOf({ 'b.example a.example': 'one' })));
  assert.deepEqual(lines, ['apply', 'certificate a.example b.example one', 'route', 'settings', 'end']);
});

test('a difference brings what is new or another, and takes away what is no longer named', () => {
  const base = wholeTruth(WHO, 1, truthOf({ 'a.example': 'one', 'b.example': 'two', 'c.example': 'three' })).becomes;
  const next = truthOf({ 'a.example': 'one', 'b.example': 'other', 'd.example': 'four' });
  assert.deepEqual(linesOf(difference(WHO, base, 2, next, new Set())), [
    'apply',
    'remove_certificate c.example',
    'certificate b.example other',
    'certificate d.example four',
    'end',
  ]);
  const same = truthOf({ 'a.example': 'one', 'b.example': 'two', 'c.example': 'three' });
  assert.equal(difference(WHO, base, 2, same, new Set()), undefined);
});

test('another certificate is another truth, though every route is the same', () => {
  assert.notEqual(truthOf({ 'a.example': 'one' }).desired.fingerprint, truthOf({ 'a.example': 'two' }).desired.fingerprint);
});
