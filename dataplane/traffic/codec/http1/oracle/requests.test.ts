import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Differential, fuzz, INPUTS } from './differential.ts';
import { sampleInput, sampleRequest } from './sample-messages.ts';

const CUT_EVERYWHERE = 4_000;

test('of requests we accept nothing that llhttp refuses, and understand what both accept alike', (t) => {
  const differential = new Differential('request');
  fuzz(t, INPUTS, (random) => {
    differential.check(sampleInput(random, sampleRequest), random);
  });
  const { accepted, refused } = differential;
  t.diagnostic(`${accepted} with a whole message, ${refused} refused`);
  assert.ok(accepted > refused / 4 && refused > accepted / 4, 'the inputs are lopsided');
});

test('requests are understood alike wherever the bytes are cut', (t) => {
  const differential = new Differential('request');
  fuzz(t, CUT_EVERYWHERE, (random) => differential.checkEverywhere(sampleInput(random, sampleRequest), random));
  assert.ok(differential.accepted > 0 && differential.refused > 0);
});
