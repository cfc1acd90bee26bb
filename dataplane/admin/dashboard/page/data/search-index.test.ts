import assert from 'node:assert/strict';
import { test } from 'node:test';
import { find, indexOf } from './search-index.ts';

test('the search finds hosts, also those of wildcards, containers, paths and targets, names before what is said about them', () => {
  const index = indexOf(
    [
      { domain: 'shop.test', origin: 'container shop-web-1 (3f2a9c)', handles: [{ path: '/basket/*' }, { path: null }] },
      { domain: '*.blog.test', origin: 'Sluicefile:7', handles: [] },
    ],
    [{ address: '10.0.0.5:3000', id: '3f2a9c', domains: ['shop.test'] }],
    [
      { domain: 'anna.blog.test', top_pages: [{ path: '/hello' }, { path: '/caf%C3%A9' }] },
      { domain: 'shop.test', top_pages: [] },
    ],
    [{ domain: 'anna.blog.test' }, { domain: 'bob.blog.test' }],
  );
  const found = (text: string): string[] => find(index, text).map(({ kind, name }) => `${kind} ${name}`);
  assert.deepEqual(found('anna'), ['host anna.blog.test', 'path /hello', 'path /café']);
  assert.deepEqual(found('shop.test'), ['host shop.test', 'container shop-web-1 (3f2a9c)', 'path /basket/*', 'target 10.0.0.5:3000']);
  assert.deepEqual(found('café'), ['path /café']);
  assert.deepEqual(found('bob'), ['host bob.blog.test']);
  assert.deepEqual(found('basket'), ['path /basket/*']);
  assert.deepEqual(found('3f2a shop.test'), ['host shop.test', 'container shop-web-1 (3f2a9c)', 'target 10.0.0.5:3000']);
  assert.deepEqual([found(''), found('nothing')], [[], []]);
});

test('a host is found by the name that its owner writes and by the one that browsers send', () => {
  const index = indexOf([{ domain: 'xn--e1afmkfd.test', handles: [] }], [], []);
  for (const text of ['пример', 'ПРИМЕР.test', 'xn--e1af'])
    assert.deepEqual(
      find(index, text).map(({ name, link }) => [name, link]),
      [['пример.test', '#/hosts/xn--e1afmkfd.test']],
    );
});
