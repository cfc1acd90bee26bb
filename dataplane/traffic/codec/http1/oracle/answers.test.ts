import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Differential, fuzz, INPUTS } from './testing/differential.ts';
import { sampleAnswer, sampleInput } from './testing/sample-messages.ts';

const CUT_EVERYWHERE = 4_000;

test('every response that we accept is accepted and understood alike by llhttp, except for known variants that mean the same', (t) => {
  const differential = new Differential('response');
  fuzz(t, INPUTS, (random) => {
    differential.check(sampleInput(random, sampleAnswer), random, random.once(8));
  });
  const { accepted, refused, tolerated } = differential;
  t.diagnostic(`${accepted} with a whole message, ${refused} refused, ${tolerated} accepted only by us`);
  assert.ok(accepted > refused / 4 && refused > accepted / 4, 'the inputs are unbalanced');
  assert.ok(tolerated > accepted / 100, 'no input uses a variant that we tolerate');
});

test('responses are read alike wherever the bytes are split', (t) => {
  const differential = new Differential('response');
  fuzz(t, CUT_EVERYWHERE, (random) => differential.checkEverywhere(sampleInput(random, sampleAnswer), random));
  assert.ok(differential.accepted > 0 && differential.refused > 0);
});
