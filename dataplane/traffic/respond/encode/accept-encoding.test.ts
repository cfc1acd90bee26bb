import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CodingChoice } from './accept-encoding.ts';

const choose = (value: string, names = ['zstd', 'br', 'gzip']): string | null =>
  new CodingChoice(names).choose(`Host: a.test\r\nAccept-Encoding: ${value}\r\nAccept: */*\r\n`);

for (const [value, chosen] of [
  ['gzip, deflate, br, zstd', 'zstd'],
  ['gzip, deflate, br', 'br'],
  ['gzip', 'gzip'],
  ['GZIP', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', null],
  ['', null],
  ['*', 'zstd'],
  ['*;q=0', null],
  ['*;q=0, gzip', 'gzip'],
  ['*, zstd;q=0', 'br'],
  ['gzip;q=1, br;q=0.5, zstd;q=0.9', 'gzip'],
  ['gzip;q=0.5, br;q=0.5', 'br'],
  ['gzip;q=0', null],
  ['gzip;q=0.000', null],
  ['gzip;q=0.001', 'gzip'],
  ['identity;q=0, gzip', 'gzip'],
  ['identity;q=0', null],
  ['identity, gzip;q=0.5', null],
  ['identity;q=0.5, gzip;q=0.5', 'gzip'],
  ['identity, gzip', 'gzip'],
  ['gzip ; q=0.8 , br ; q=0.7', 'gzip'],
  ['gzip;q=2', null],
  ['gzip;q=', null],
  ['gzip;q=0.1234', null],
  ['gzip;q=-1', null],
  ['gzip;level=9', null],
  ['gzip br', null],
  [',,gzip,,', 'gzip'],
  ['gzip, gzip;q=0', null],
] as const)
  test(`Accept-Encoding "${value}" chooses ${chosen ?? 'no coding'}`, () => assert.equal(choose(value), chosen));

test('a request without Accept-Encoding gets no coding', () => assert.equal(new CodingChoice(['gzip']).choose('Host: a.test\r\n'), null));

test('several Accept-Encoding lines are one list', () => {
  const choice = new CodingChoice(['br', 'gzip']);
  assert.equal(choice.choose('accept-encoding: gzip;q=0.5\r\nHost: a.test\r\nACCEPT-ENCODING: br;q=0.4\r\n'), 'gzip');
});

test('a choice is the same when it is remembered, and after many others', () => {
  const choice = new CodingChoice(['br', 'gzip']);
  for (let at = 0; at < 500; at++) assert.equal(choice.choose(`Accept-Encoding: gzip, x${at}\r\n`), 'gzip');
  for (let time = 0; time < 2; time++) assert.equal(choice.choose('Accept-Encoding: br, gzip\r\n'), 'br');
});

test('a value of 60 KB is read in linear time', () => {
  assert.equal(choose('gzip;q=0.1 ,'.repeat(5_000)), 'gzip');
  assert.equal(choose(`${' \t'.repeat(30_000)}gzip`), 'gzip');
  assert.equal(choose(`gzip${' '.repeat(60_000)};`), null);
});
