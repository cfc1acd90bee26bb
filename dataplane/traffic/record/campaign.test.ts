import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type CampaignParameter, campaignParameter, campaignQuery } from './campaign.ts';

const of = (query: string, name: CampaignParameter = 'utm_source', path = '/'): string =>
  campaignParameter(campaignQuery(path + query, path.length), name);

for (const [query, value] of [
  ['', ''],
  ['?utm_source=news', 'news'],
  ['?a=b&utm_source=news&c=d', 'news'],
  ['?utm_source=', ''],
  ['?utm_source', ''],
  ['?xutm_source=no', ''],
  ['?a=utm_source=no', ''],
  ['?xutm_source=no&utm_source=yes', 'yes'],
  ['?utm_source=first&utm_source=second', 'first'],
  ['?utm_source=spring+sale%202026', 'spring sale 2026'],
  ['?utm_source=Gr%C3%BC%C3%9Fe', 'Grüße'],
  ['?utm_source=50%', '50%'],
  ['?utm_source=%FC', '\ufffd'],
  ['?utm_source=a%0D%0Ab%00', 'a b'],
] as const)
  test(`utm_source of ${query || 'no query'} is ${JSON.stringify(value)}`, () => assert.equal(of(query), value));

test('each parameter is read by its own name, and only from the query', () => {
  const query = '?utm_campaign=c&utm_medium=m&utm_source=s';
  assert.deepEqual([of(query), of(query, 'utm_medium'), of(query, 'utm_campaign')], ['s', 'm', 'c']);
  assert.equal(of('?a=b', 'utm_source', '/x&utm_source=path'), '');
});

test('a value is cut at 100 characters, escaped or not', () => {
  assert.equal(of(`?utm_source=${'a'.repeat(8_000)}`), 'a'.repeat(100));
  assert.equal(of(`?utm_source=${'%F0%9F%8E%89'.repeat(600)}`), '🎉'.repeat(100));
  assert.equal(of(`?utm_source=a${'%F0%9F%8E%89'.repeat(600)}`), `a${'🎉'.repeat(99)}`);
});

test('only the beginning of a long query is searched', () => {
  assert.equal(of(`?a=${'b'.repeat(1_500)}&utm_source=news`), 'news');
  assert.equal(of(`?a=${'b'.repeat(3_000)}&utm_source=news`), '');
});
