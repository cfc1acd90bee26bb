import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Differential, fuzz, INPUTS } from './testing/differential.ts';
import { sampleInput, sampleRequest } from './testing/sample-messages.ts';

const CUT_EVERYWHERE = 4_000;

test('every request that we accept is accepted and understood alike by llhttp', (t) => {
  const differential = new Differential('request');
  fuzz(t, INPUTS, (random) => {
    differential.check(sampleInput(random, sampleRequest), random);
  });
  const { accepted, refused } = differential;
  t.diagnostic(`${accepted} with a whole message, ${refused} refused`);
  assert.ok(accepted > refused / 4 && refused > accepted / 4, 'the inputs are unbalanced');
});

test('requests are read alike wherever the bytes are split', (t) => {
  const differential = new Differential('request');
  fuzz(t, CUT_EVERYWHERE, (random) => differential.checkEverywhere(sampleInput(random, sampleRequest), random));
  assert.ok(differential.accepted > 0 && differential.refused > 0);
});
