import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzz } from '../../../codec/http1/oracle/testing/differential.ts';
import { randomCuts } from '../../../codec/http1/oracle/testing/sample-mutation.ts';
import { type Attributes, HeadScanner } from '../head-scanner.ts';
import { samplePage } from './testing/sample-page.ts';
import { StandardPage } from './testing/standard-page.ts';

const PAGES = 25_000;
const CUT_EVERYWHERE = 1_000;
const SCRIPT = '<script defer src="/.sluice/vitals.js"></script>';
/** What may end the search. */
const UNSEARCHED = /<(?:svg|math|frameset|select|plaintext)/i;

/** The attributes that matter. */
const READ = ['charset', 'http-equiv', 'content', 'href'];

type Reading = { readonly place: number | null; readonly tags: readonly (readonly [string, Attributes])[] };

/** The offset of the insertion point if the bytes arrive in pieces that end at `cuts`. */
function scanned(bytes: Buffer, cuts: readonly number[]): Reading {
  const tags: [string, Attributes][] = [];
  const scanner = new HeadScanner((...tag) => tags.push(tag));
  let from = 0;
  for (const to of [...cuts, bytes.length]) {
    const { outcome, safe } = scanner.scan(bytes, from, to);
    if (outcome === 'found') return { place: safe, tags };
    if (outcome === 'none') break;
    assert.ok(to - safe <= 6, 'at most six bytes are held');
    from = to;
  }
  return { place: null, tags };
}

function check(text: string): boolean {
  const bytes = Buffer.from(text);
  const { place, tags } = scanned(bytes, []);
  const original = new StandardPage(text);
  const context = JSON.stringify(text);
  if (place === null) {
    const searched = original.headEnd !== null && !original.leavesTemplateOpen && !UNSEARCHED.test(text);
    assert.ok(!searched, `the end of the head is not found in ${context}`);
    return false;
  }
  const before = bytes.toString('utf8', 0, place);
  const page = new StandardPage(before + SCRIPT + bytes.toString('utf8', place));
  if (page.text.includes('<frameset')) {
    // It replaces the body and all that is in it, but a script in it has begun to be loaded.
    assert.equal(page.without(before.length) ?? page.text, original.text, `the page is another in ${context} at ${place}`);
    return true;
  }
  assert.equal(page.without(before.length), original.text, `the page is another in ${context} at ${place}`);
  for (const name of ['meta', 'base'] as const) {
    const ours = tags.filter(([tag, { size }]) => tag === name && size > 0);
    const theirs = original.living(name).filter(({ at, attributes }) => at < before.length && READ.some((one) => attributes.has(one)));
    assert.deepEqual(
      ours.map(([, attributes]) => valuesOf(attributes)),
      theirs.map(({ attributes }) => valuesOf(attributes)),
      `other tags in ${context}`,
    );
  }
  return true;
}

/** Values whose meaning doesn't depend on character references, control characters and new lines. */
const valuesOf = (attributes: ReadonlyMap<string, string | null>) =>
  READ.map((name) => {
    const value = attributes.get(name) ?? null;
    return value === null ? attributes.has(name) : /^[ -%'-~]*$/.test(value) ? value : 'other';
  });

test('where the head of a page ends, a browser executes the script, and nothing else of the page is read in another way', (t) => {
  let found = 0;
  fuzz(t, PAGES, (random) => {
    if (check(samplePage(random))) found++;
  });
  t.diagnostic(`${found} with a place`);
  assert.ok(found > 0);
});

test('the end of the head is the same wherever the bytes of the page are split', (t) => {
  const plain = ({ place, tags }: Reading) => [place, tags.map(([name, attributes]) => [name, ...attributes])];
  fuzz(t, CUT_EVERYWHERE, (random) => {
    const bytes = Buffer.from(samplePage(random));
    const whole = plain(scanned(bytes, []));
    const cuts = [[...bytes.keys()], randomCuts(bytes.length, random), ...Array.from(bytes.keys(), (cut) => [cut])];
    for (const cut of cuts)
      assert.deepEqual(plain(scanned(bytes, cut)), whole, `${JSON.stringify(bytes.toString())} cut at ${cut.join(', ')}`);
  });
});
