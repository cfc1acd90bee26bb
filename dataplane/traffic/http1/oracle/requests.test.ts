import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Differential, fuzz } from './differential.ts';
import { sampleInput, sampleRequest } from './sample-messages.ts';

const INPUTS = 500_000;

test('of requests we accept nothing that llhttp refuses, and understand what both accept alike', (t) => {
  const differential = new Differential('request');
  fuzz(t, INPUTS, (random) => {
    differential.check(sampleInput(random, sampleRequest), random);
  });
  t.diagnostic(`${differential.accepted} with a whole message, ${differential.refused} refused`);
  assert.ok(differential.accepted > 0 && differential.refused > 0);
});
