import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byName } from './name-order.ts';

const sorted = async (names: readonly string[]) =>
  (
    await byName(
      names.map((name) => ({ name })),
      () => false,
    )
  )?.map(({ name }) => name);

test('names are sorted by their numbers, without regard to case and accents', async () => {
  const names = ['a', 'Ä1', 'a1', 'a1b', 'a2', 'a10', 'A10b', 'B', 'é', 'f', 'v1.2.3', 'v1.10.0', '٣', '日本'];
  assert.deepEqual(await sorted(names.toReversed()), [
    'a',
    'a1',
    'Ä1',
    'a1b',
    'a2',
    'a10',
    'A10b',
    'B',
    'é',
    'f',
    'v1.2.3',
    'v1.10.0',
    '٣',
    '日本',
  ]);
  assert.deepEqual(await sorted(['1'.repeat(100), '007', '7', '']), ['', '007', '7', '1'.repeat(100)]);
});

test('many names are sorted in several turns, and no longer than someone wants them', async () => {
  const names = Array.from({ length: 20_000 }, (_, at) => `file ${(at * 7_919) % 20_000}`);
  const result = await sorted(names);
  assert.deepEqual(
    result,
    Array.from({ length: 20_000 }, (_, at) => `file ${at}`),
  );
  let asked = 0;
  const unwanted = await byName(
    names.map((name) => ({ name })),
    () => ++asked === 3,
  );
  assert.equal(unwanted, null);
  assert.equal(asked, 3);
});
