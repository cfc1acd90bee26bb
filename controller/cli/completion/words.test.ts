import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Flag, helpOf } from '../../../shared/runtime/flags.ts';
import { flagWords, flagWordsIn, valuesOf } from './words.ts';

const TABLE: readonly Flag[] = [
  { name: 'port', placeholder: 'PORT', help: 'where (or not)', default: '80 (HTTP)' },
  { name: 'all', kind: 'switch', help: 'everything' },
  { name: 'socket', kind: 'optional', placeholder: 'PATH', help: 'a socket as well', default: 'off' },
  { name: 'peer', kind: 'list', placeholder: 'A,...', help: 'who' },
  { name: 'later', kind: 'switch', help: 'not yet', unavailable: true },
];

test('flags read from --help equal those from the flag table', () => {
  const simple = TABLE.filter(({ name }) => name !== 'port');
  assert.deepEqual(flagWordsIn(helpOf(simple)), flagWords(simple));
  assert.deepEqual(
    flagWordsIn(helpOf(TABLE)).map(({ name }) => name),
    ['port', 'all', 'socket', 'peer'],
  );
});

test('a value is a path, one of a few words, or any text', () => {
  assert.deepEqual(valuesOf('PATH'), { kind: 'path' });
  assert.deepEqual(valuesOf('N|auto'), { kind: 'words', words: ['auto'] });
  assert.deepEqual(valuesOf('PORT'), { kind: 'any' });
});
