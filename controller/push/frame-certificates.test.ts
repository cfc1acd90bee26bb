import assert from 'node:assert/strict';
import { test } from 'node:test';
import { desire } from '../desired/desire.ts';
import { sampleListing } from '../desired/testing/sample-listing.ts';
import type { DesiredState } from '../reconcile/reconciler.ts';
import { NO_CONDITIONS_SENT } from './condition-lines.ts';
import { deltaFrame, type Frame, fullFrame } from './frame.ts';

const NOTHING = { routes: new Set<string>(), certificates: new Set<string>() };
const CONTENT = { identity: { controller: 'c', epoch: 1, reload: false }, conditions: { lines: [], becomes: NO_CONDITIONS_SENT } };

/** The desired state of a file with these certificates, given as text by domains. */
function stateOf(provided: Readonly<Record<string, string>>): DesiredState {
  const certificates = Object.entries(provided).map(([domains, certificate]) => ({
    ...{ domains: domains.split(' '), certificate, private_key: 'key' },
  }));
  const listing = sampleListing(['a.example'], { certificates });
  return { desired: desire(new Map([['file', { listing, errors: [] }]])), problems: [] };
}

/** The lines of a frame, each as its kind and its subject. */
const linesOf = (frame: Frame | undefined): string[] =>
  [...(frame?.lines ?? [])].map((text) => {
    const [[kind = '', value] = []] = Object.entries(JSON.parse(text) as Record<string, { domains?: string[]; certificate?: string }>);
    return [kind, value?.domains?.join(' '), value?.certificate].filter(Boolean).join(' ');
  });

test('a full frame contains every certificate, before the routes', () => {
  const lines = linesOf(fullFrame({ ...CONTENT, revision: 1, state: stateOf({ 'b.example a.example': 'one' }) }));
  assert.deepEqual(lines, ['apply', 'certificate a.example b.example one', 'route', 'settings', 'end']);
});

test('a difference adds new and changed certificates, and removes those no longer wanted', () => {
  const first = stateOf({ 'a.example': 'one', 'b.example': 'two', 'c.example': 'three' });
  const base = fullFrame({ ...CONTENT, revision: 1, state: first }).becomes;
  const next = stateOf({ 'a.example': 'one', 'b.example': 'other', 'd.example': 'four' });
  assert.deepEqual(linesOf(deltaFrame(base, NOTHING, { ...CONTENT, revision: 2, state: next })), [
    'apply',
    'remove_certificate c.example',
    'certificate b.example other',
    'certificate d.example four',
    'end',
  ]);
  const same = stateOf({ 'a.example': 'one', 'b.example': 'two', 'c.example': 'three' });
  assert.equal(deltaFrame(base, NOTHING, { ...CONTENT, revision: 2, state: same }), undefined);
});

test('a different certificate is a change even if all routes are the same', () => {
  assert.notEqual(stateOf({ 'a.example': 'one' }).desired.fingerprint, stateOf({ 'a.example': 'two' }).desired.fingerprint);
});
