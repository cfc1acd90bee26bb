import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Differential, fuzz, INPUTS } from './differential.ts';
import { sampleAnswer, sampleInput } from './sample-messages.ts';

const CUT_EVERYWHERE = 4_000;

test('of answers we accept nothing that llhttp refuses, but for what means the same in the usual way, and understand what both accept alike', (t) => {
  const differential = new Differential('response');
  fuzz(t, INPUTS, (random) => {
    differential.check(sampleInput(random, sampleAnswer), random, random.once(8));
  });
  const { accepted, refused, tolerated } = differential;
  t.diagnostic(`${accepted} with a whole message, ${refused} refused, ${tolerated} taken by us alone`);
  assert.ok(accepted > refused / 4 && refused > accepted / 4, 'the inputs are lopsided');
  assert.ok(tolerated > accepted / 100, 'nothing of what we let upstreams do is tried');
});

test('answers are understood alike wherever the bytes are cut', (t) => {
  const differential = new Differential('response');
  fuzz(t, CUT_EVERYWHERE, (random) => differential.checkEverywhere(sampleInput(random, sampleAnswer), random));
  assert.ok(differential.accepted > 0 && differential.refused > 0);
});
