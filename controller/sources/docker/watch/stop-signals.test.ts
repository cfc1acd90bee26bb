import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isStopSignal, signalNumber } from './stop-signals.ts';

test('reads signals as numbers or names, with or without SIG, including real-time ones', () => {
  assert.deepEqual(['15', 'TERM', 'sigterm', 'SIGRTMIN+3', 'RTMAX-1', 'NONE', ''].map(signalNumber), [
    15,
    15,
    15,
    37,
    63,
    undefined,
    undefined,
  ]);
});

test('TERM, INT, QUIT, KILL and the image’s stop signal stop a container; others do not', () => {
  for (const ending of ['15', '2', '3', '9', 'SIGKILL']) assert.ok(isStopSignal(ending, null), ending);
  for (const other of ['1', 'HUP', '10', '28', 'nonsense']) assert.ok(!isStopSignal(other, null), other);
  assert.ok(isStopSignal('28', 'SIGWINCH'));
  assert.ok(isStopSignal('37', 'SIGRTMIN+3'));
  assert.ok(!isStopSignal('1', 'SIGWINCH'));
});
