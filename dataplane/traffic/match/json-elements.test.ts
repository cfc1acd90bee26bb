import assert from 'node:assert/strict';
import { test } from 'node:test';
import { elementsOf } from './json-elements.ts';

/** The elements as text, and what is left of the object without them. */
function split(value: unknown, member = 'list'): { elements: string[]; rest: string | null } {
  const bytes = Buffer.from(`[${JSON.stringify(value)}]`);
  const whole = { from: 1, to: bytes.length - 1 };
  const found = elementsOf(bytes, whole, member);
  const elements: string[] = [];
  let next = found.next();
  for (; !next.done; next = found.next()) elements.push(bytes.toString('utf8', next.value.from, next.value.to));
  const array = next.value;
  const rest = array && `${bytes.toString('utf8', whole.from, array.from)}[]${bytes.toString('utf8', array.to, whole.to)}`;
  return { elements, rest };
}

test('the elements of an array are found wherever it stands, and the rest is the same object without them', () => {
  const list = [{ a: 1 }, { b: [{ c: '}]' }], d: {} }, [], [['x']], { '"': '\\"\\\\', list: [{ e: 1 }] }, { text: 'äß✓ "list":[{' }];
  for (const value of [{ list }, { list, z: 1 }, { a: 'list', b: { list: [{ no: 1 }] }, list, c: [list] }, { 'list\\': [{}], list }]) {
    const { elements, rest } = split(value);
    assert.deepEqual(
      elements.map((text) => JSON.parse(text)),
      list,
    );
    assert.deepEqual(JSON.parse(rest ?? ''), { ...value, list: [] });
  }
});

test('an array without elements differs from an object without the array', () => {
  assert.deepEqual(split({ a: 1, list: [] }), { elements: [], rest: '{"a":1,"list":[]}' });
  for (const value of [{}, { list: 'text' }, { a: [{ list: [{}] }] }, { list: {} }, { lists: [{}] }]) assert.equal(split(value).rest, null);
});

test('any object that is written as JSON is split as parsing it would', () => {
  let seed = 7;
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed % below;
  };
  const texts = ['', '"', '\\', '\\"', '{', '}]', 'list', '"list":[', 'ü', '\n', '\u0000'];
  const valueAt = (depth: number): unknown => {
    const kind = random(depth > 3 ? 3 : 5);
    if (kind === 0) return texts[random(texts.length)];
    if (kind === 1) return random(1_000) - 500.5;
    if (kind === 2) return null;
    if (kind === 3) return Array.from({ length: random(4) }, () => valueAt(depth + 1));
    return Object.fromEntries(Array.from({ length: random(4) }, () => [texts[random(texts.length)], valueAt(depth + 1)]));
  };
  for (let round = 0; round < 500; round++) {
    const list = Array.from({ length: random(5) }, () => ({ value: valueAt(0) }));
    const value = { before: valueAt(0), list, after: valueAt(0) };
    const { elements, rest } = split(value);
    assert.deepEqual(
      elements.map((text) => JSON.parse(text)),
      JSON.parse(JSON.stringify(list)),
    );
    assert.equal(rest, JSON.stringify({ ...value, list: [] }));
  }
});
