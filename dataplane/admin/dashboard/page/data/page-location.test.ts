import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linkTo, readPageLocation } from './page-location.ts';

test('a link leads to the place that it was made of', () => {
  for (const [view, subject, query] of [
    ['', null, []],
    ['routes', null, [['filter', 'a&b']]],
    ['hosts', '*.example.com', [['range', '7d']]],
    ['hosts', 'a/b?c#d%', []],
  ] as const) {
    const entries = new Map<string, string>(query as readonly (readonly [string, string])[]);
    assert.deepEqual(readPageLocation(linkTo(view, subject, entries)), { view, subject, query: entries });
  }
});

test('any hash is a place', () => {
  assert.deepEqual(readPageLocation(''), { view: '', subject: null, query: new Map() });
  assert.deepEqual(readPageLocation('#/hosts/%E0%A4%A'), { view: 'hosts', subject: '%E0%A4%A', query: new Map() });
});
