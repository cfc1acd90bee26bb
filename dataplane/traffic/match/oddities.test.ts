import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beginningOf, endOf, firstOddity } from './oddities.ts';

/** All oddities as one expression, to compare with the byte-by-byte scan. */
const ODD = new RegExp(
  [
    '[;\\\\\\x80-\\xff]',
    '\\.(?=/|$|%20)',
    '/%20',
    '%20(?=/|$|%20)',
    '(?::|%3A)(?::|%3A|\\$|%24)',
    '%(?:[01][0-9A-F]|2[35F]|3[BF]|5C|7F|C[01]|C2%A[05]|E0%[89]|E2%(?:80%A[4-6]|81%84|88%9[56])|EF%(?:B8%(?:99|B0)|B9%(?:92|A8)|B[CD])|F0%8|F[8C])',
    '%(?![0-9A-F]{2})',
  ].join('|'),
);
const ODD_OR_EMPTY = new RegExp(`${ODD.source}|//`);

function beginning(path: string): string {
  const at = path.search(ODD_OR_EMPTY);
  return at < 0 ? path : path.slice(0, path.lastIndexOf('/', at) + 1) || '/';
}

function end(path: string): string {
  let from = path.length;
  while (from > 0) {
    const slash = path.lastIndexOf('/', from - 1);
    const isEmpty = slash === from - 1 && from < path.length;
    if (slash < 0 || isEmpty || ODD.test(path.slice(slash, from))) break;
    from = slash;
  }
  return path.slice(from);
}

const ATOMS = [
  ...[
    '/',
    '/',
    '//',
    'x',
    'g',
    '.',
    '..',
    '-',
    ':',
    '$',
    ';',
    '\\',
    '\xe9',
    '%',
    '%4',
    '%8',
    '%20',
    '%20',
    '%24',
    '%25',
    '%2F',
    '%3A',
    '%61',
    '%7F',
  ],
  ...[
    '%80',
    '%81',
    '%84',
    '%88',
    '%95',
    '%9F',
    '%A0',
    '%A6',
    '%B0',
    '%B8',
    '%BC',
    '%C0',
    '%C2',
    '%E0',
    '%E2',
    '%E2%80',
    '%EF',
    '%F0',
    '%F8',
  ],
];

test('the byte-by-byte scan finds the first and the last oddity of a path where the expression finds them', () => {
  let state = 20_261_122;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  let odd = 0;
  const rounds = 200_000;
  for (let round = 0; round < rounds; round++) {
    let path = '/';
    for (let count = 1 + random(7); count > 0; count--) path += ATOMS[random(ATOMS.length)];
    const first = firstOddity(path);
    if (first >= 0) odd++;
    assert.equal(first >= 0, ODD.test(path), path);
    assert.equal(beginningOf(path, first), beginning(path), path);
    if (first >= 0) assert.equal(endOf(path), end(path), path);
  }
  assert.ok(odd > rounds / 10 && odd < (9 * rounds) / 10, `${odd} odd`);
});
