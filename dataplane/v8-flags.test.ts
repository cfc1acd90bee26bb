import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { TRAFFIC_FLAGS } from './v8-flags.ts';

test('this version of V8 has each of the flags of the request path', () => {
  const tagWith = (flags: readonly string[]) =>
    execFileSync(process.execPath, [...flags, '--print', 'process.getBuiltinModule("node:v8").cachedDataVersionTag()'], {
      encoding: 'utf8',
    });
  for (const flag of TRAFFIC_FLAGS) assert.notEqual(tagWith([flag]), tagWith([]), flag);
});
