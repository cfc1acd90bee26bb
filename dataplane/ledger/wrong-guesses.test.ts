import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WrongGuesses } from './wrong-guesses.ts';

const NOW = 1_800_000_000_000;

test('all workers remember a wrong guess at any of them for ten minutes', () => {
  const buffer = WrongGuesses.buffer();
  const [one, other] = [new WrongGuesses(buffer), new WrongGuesses(buffer)];
  one.add('192.0.2.1', NOW);
  assert.equal(other.has('192.0.2.1', NOW), true);
  assert.equal(other.has('192.0.2.2', NOW), false);
  assert.equal(other.has('192.0.2.1', NOW + 599_000), true);
  assert.equal(other.has('192.0.2.1', NOW + 600_000), false);
});

test('the time restarts with each wrong guess and ends with a right one', () => {
  const guesses = new WrongGuesses(WrongGuesses.buffer());
  guesses.add('192.0.2.1', NOW);
  guesses.add('192.0.2.1', NOW + 500_000);
  assert.equal(guesses.has('192.0.2.1', NOW + 1_000_000), true);
  guesses.delete('192.0.2.1');
  assert.equal(guesses.has('192.0.2.1', NOW + 1_000_000), false);
});

test('setting the clock back does not put a client behind all others', () => {
  const guesses = new WrongGuesses(WrongGuesses.buffer());
  guesses.add('192.0.2.1', NOW);
  assert.equal(guesses.has('192.0.2.1', NOW - 86_400_000), false);
});

test('with more clients than slots, the most recent wrong guesses are remembered', () => {
  const guesses = new WrongGuesses(WrongGuesses.buffer());
  for (let nth = 0; nth < 100_000; nth++) guesses.add(`client ${nth}`, NOW + nth * 4);
  const known = Array.from({ length: 1_000 }, (_, nth) => guesses.has(`client ${99_999 - nth}`, NOW + 400_000)).filter(Boolean);
  assert.ok(known.length > 990, `${known.length} of the last 1,000`);
});
