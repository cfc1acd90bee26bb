import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Block, Directive, Reading } from '../../config-file/directive.ts';
import type { Word } from '../../config-file/word.ts';
import { parseRoute } from '../../route.ts';
import { refused } from '../../values/parsed.ts';
import { cacheDirective } from './directive.ts';

const word = (text: string): Word => ({ path: 'Sluicefile', line: 1, column: 1, text, style: 'bare', exact: true });
const line = (text: string, block: Block | null = null): Directive => {
  const [name = '', ...args] = text.split(' ');
  return { name: word(name), args: args.map(word), block };
};
const block = (...lines: string[]): Directive => line('cache', { open: word('{'), lines: lines.map((text) => line(text)) });
const unasked = (): never => assert.fail('a cache does not use this');
const USUAL = [200, 203, 204, 300, 301, 308];

function read(directive: Directive) {
  const mistakes: string[] = [];
  const part: Parameters<typeof cacheDirective.read>[1] = {};
  const reading: Reading = {
    report: { error: (_, message) => mistakes.push(message.replace(/\p{Noncharacter_Code_Point}/gu, '')), warn: unasked },
    conditionFor: () => ({ method: ['GET'] }),
    expanded: (lines) => lines,
    textOf: () => refused('no file'),
    now: 0,
    sourceWords: new WeakMap(),
  };
  cacheDirective.read(directive, part, reading, null);
  return { cache: part.cache, mistakes };
}

test('the cache is on, off or on with a lifetime, and a block says more', () => {
  assert.deepEqual(read(line('cache')), { cache: {}, mistakes: [] });
  assert.deepEqual(read(line('cache on')), { cache: {}, mistakes: [] });
  assert.deepEqual(read(line('cache off')), { cache: null, mistakes: [] });
  assert.deepEqual(read(line('cache 10m')), { cache: { ttls: [{ secs: 600, statuses: USUAL }] }, mistakes: [] });
  assert.deepEqual(read(block('ttl 1h', 'ttl 30s 404 410', 'stale_while_revalidate 10s', 'stale_if_error 1h', 'bypass @preview')), {
    cache: {
      ttls: [
        { secs: 3_600, statuses: USUAL },
        { secs: 30, statuses: [404, 410] },
      ],
      stale_while_revalidate_secs: 10,
      stale_if_error_secs: 3_600,
      bypass: { method: ['GET'] },
    },
    mistakes: [],
  });
});

for (const [directive, mistake] of [
  [line('cache yes'), 'cache "yes": write on, off or a duration such as 10m'],
  [line('cache 0s'), 'cache "0s": write on, off or a duration such as 10m'],
  [block('ttl'), 'ttl is missing an argument: write ttl <duration> [<status> …]'],
  [block('ttl 0s'), 'ttl "0s": it is at least 1s; for no cache, write cache off'],
  [block('ttl 1m 206'), 'ttl "206": a status is a number from 200 to 599, and neither 206 nor 304'],
  [block('tll 1m'), 'cache has no "tll" (did you mean "ttl"?)'],
  [block('stale_if_error 1h', 'stale_if_error 2h'), 'stale_if_error is already in line 1; keep one of them'],
  [block('bypass preview'), 'write bypass @<matcher>'],
  [block(), 'cache has an empty block: write cache alone'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => assert.deepEqual(read(directive).mistakes, [mistake]));

test('a route accepts it for the site and for its blocks', () => {
  const cached = (cache: unknown) => parseRoute({ domain: 'a.example', upstream: '10.0.0.1:80', tls: false, cache });
  for (const [given, cache] of [
    [true, {}],
    [false, null],
    [{ ttls: [{ secs: 5 }] }, { ttls: [{ secs: 5, statuses: USUAL }] }],
  ]) {
    const route = cached(given);
    assert.ok(route.ok);
    assert.deepEqual(route.value.cache, cache);
  }
  for (const wrong of ['maybe', { ttls: [] }, { ttls: [{ secs: 0 }] }, { ttls: [{ secs: 1, statuses: [199] }] }])
    assert.equal(cached(wrong).ok, false, JSON.stringify(wrong));
});
