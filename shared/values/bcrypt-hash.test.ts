import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf, parseBcryptHash } from './bcrypt-hash.ts';

const TAIL = 'N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy';

test('reads every common kind of bcrypt hash, and $2y$ as $2b$', () => {
  for (const kind of ['2a', '2b']) assert.deepEqual(parseBcryptHash(`$${kind}$10$${TAIL}`), { ok: true, value: `$${kind}$10$${TAIL}` });
  assert.deepEqual(parseBcryptHash(`$2y$04$${TAIL}`), { ok: true, value: `$2b$04$${TAIL}` });
  assert.equal(costOf(`$2b$04$${TAIL}`), 4);
});

test('rejects other text, and hashes that would take too long to compare', () => {
  for (const text of [
    '',
    'secret',
    `$2x$10$${TAIL}`,
    `$2b$10$${TAIL}x`,
    `$2b$10$${TAIL.slice(1)}`,
    `$2b$1$${TAIL}x`,
    `$apr1$${TAIL}`,
    `$2b$10$${TAIL}\n`,
  ])
    assert.match((parseBcryptHash(text) as { reason: string }).reason, /not a bcrypt hash/, text);
  for (const cost of ['03', '17', '31']) assert.match((parseBcryptHash(`$2b$${cost}$${TAIL}`) as { reason: string }).reason, /cost/, cost);
});
