import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { parseRoute } from '../../route.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { cacheDirective } from './directive.ts';

const block = (...lines: string[]): Directive => line('cache', blockOf(...lines));
const USUAL = [200, 203, 204, 300, 301, 308];

function read(directive: Directive) {
  const { context, mistakes } = directiveContext({ conditionFor: () => ({ method: ['GET'] }) });
  const part: Parameters<typeof cacheDirective.read>[1] = {};
  cacheDirective.read(directive, part, context, null);
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

test('lines with key together decide which response a request gets', () => {
  assert.deepEqual(
    read(block('key ignore_query utm_* gclid', 'key ignore_query fbclid', 'key header X-Device', 'key cookie currency lang')),
    {
      cache: { key: { ignore_query: ['utm_*', 'gclid', 'fbclid'], headers: ['X-Device'], cookies: ['currency', 'lang'] } },
      mistakes: [],
    },
  );
  assert.deepEqual(read(block('key query page')), { cache: { key: { query: ['page'] } }, mistakes: [] });
});

const KEY = 'key query|ignore_query|header|cookie <name> …';
for (const [directive, mistake] of [
  [block('key'), `key is missing an argument: write ${KEY}`],
  [block('key quer a'), 'key "quer" (did you mean "query"?)'],
  [block('key $host$request_uri'), `key "$host$request_uri": write ${KEY}`],
  [block('key header'), 'key header is missing a name: write key header <name> …'],
  [block('key header Cookie'), 'key header "Cookie": name the cookies: key cookie <name>'],
  [block('key header Authorization'), 'key header "Authorization": this header can’t be a part of the key'],
  [block('key header a:b'), 'key header "a:b": a header name consists of letters, digits and hyphens'],
  [block('key cookie a=b'), 'key cookie "a=b": the name of a cookie has no spaces, and none of , ; ='],
  [block('key query a&b'), 'key query "a&b": a parameter has 1 to 128 characters, without spaces, & = # and ?'],
  [block('key query u*m'), 'key query "u*m": a * stands only at the end'],
  [block('key query a', 'key query b a'), 'key query already names "a"'],
  [
    block('key query a', 'key ignore_query b'),
    'key query names the only parameters that decide, so there is nothing to ignore: keep one of query and ignore_query',
  ],
  [line('cache yes'), 'cache "yes": write on, off or a duration such as 10m'],
  [line('cache 0s'), 'cache "0s": write on, off or a duration such as 10m'],
  [block('ttl'), 'ttl is missing an argument: write ttl <duration> [<status> …]'],
  [block('ttl 0s'), 'ttl "0s": it is at least 1s; for no cache, write cache off'],
  [block('ttl 1m 206'), 'ttl "206": a status is a number from 200 to 599, and neither 206 nor 304'],
  [block('ttl 1m', 'ttl 2m'), 'ttl: status 200 has a lifetime already; keep one of them'],
  [block('ttl 1m 404', 'ttl 2m 410 404'), 'ttl: status 404 has a lifetime already; keep one of them'],
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
    [{ key: { query: ['a*'], headers: ['X-A'] } }, { key: { query: ['a*'], headers: ['X-A'] } }],
    [{ ttls: [{ secs: 5 }] }, { ttls: [{ secs: 5, statuses: USUAL }] }],
  ]) {
    const route = cached(given);
    assert.ok(route.ok);
    assert.deepEqual(route.value.cache, cache);
  }
  const keys = [{ query: [] }, { query: ['a'], ignore_query: ['b'] }, { headers: ['Cookie'] }, { cookies: ['a=b'] }, { query: ['a*b'] }];
  for (const wrong of [
    'maybe',
    ...keys.map((key) => ({ key })),
    { ttls: [] },
    { ttls: [{ secs: 0 }] },
    { ttls: [{ secs: 1, statuses: [199] }] },
  ])
    assert.equal(cached(wrong).ok, false, JSON.stringify(wrong));
});
