import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BlockIndex } from './block-index.ts';
import { compilePattern } from './pattern.ts';

type Block = readonly string[] | null;

function indexOf(blocks: readonly Block[]): BlockIndex {
  const index = new BlockIndex();
  for (const [nth, patterns] of blocks.entries()) index.add(nth, patterns);
  return index;
}

const matches = (block: Block, path: string): boolean => block === null || block.some((one) => compilePattern(one).matches(path));

/** The block that is found, and the blocks that were tested. */
function scan(blocks: readonly Block[], path: string, passes: (nth: number) => boolean): { found: number; tested: number[] } {
  const tested: number[] = [];
  const found = blocks.findIndex((block, nth) => {
    if (!matches(block, path)) return false;
    tested.push(nth);
    return passes(nth);
  });
  return { found, tested };
}

function search(blocks: readonly Block[], path: string, passes: (nth: number) => boolean): { found: number; tested: number[] } {
  const tested: number[] = [];
  const found = indexOf(blocks).first(path, (nth) => {
    tested.push(nth);
    return passes(nth);
  });
  return { found, tested };
}

test('the first block in the order written is found, with any kind of pattern', () => {
  const blocks: Block[] = [['/a'], ['/a/*'], ['/a*'], null, ['/a/b', '/c/*'], ['/*']];
  const first = (path: string, from = 0) => search(blocks, path, (nth) => nth >= from).found;
  assert.deepEqual([first('/a'), first('/a/'), first('/a/b'), first('/ab'), first('/b'), first('*')], [0, 1, 1, 2, 3, 3]);
  assert.deepEqual([first('/a', 4), first('/a/b', 4), first('/c/', 4), first('/c', 4), first('*', 4)], [5, 4, 4, 5, -1]);
});

test('blocks are found, and tested, as by trying one after the other', () => {
  let seed = 11;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const segments = ['a', 'b', 'ab', 'a.b', ''];
  const pathOf = () => `/${Array.from({ length: random(4) }, () => segments[random(segments.length)]).join('/')}`;
  for (let round = 0; round < 400; round++) {
    const blocks: Block[] = Array.from({ length: 1 + random(12) }, () =>
      random(6) === 0
        ? null
        : Array.from({ length: 1 + random(3) }, () => `${pathOf()}${['', '', '/*', '*'][random(4)]}`.replace('//*', '/*')),
    ).map((block) => block?.map((pattern) => compilePattern(pattern).text) ?? null);
    for (let request = 0; request < 10; request++) {
      const path = random(20) === 0 ? '*' : pathOf();
      const mask = random(4_096);
      const passes = (nth: number) => (mask & (1 << nth)) !== 0;
      assert.deepEqual(search(blocks, path, passes), scan(blocks, path, passes), `${path} in ${JSON.stringify(blocks)}`);
    }
  }
});

test('among 10,000 blocks only those are tested that may match', () => {
  const blocks = Array.from({ length: 10_000 }, (_, nth): Block => [`/service-${nth}/*`, `/service-${nth}`]);
  const { found, tested } = search(blocks, '/service-9999/x', () => true);
  assert.deepEqual({ found, tested }, { found: 9_999, tested: [9_999] });
});
