import assert from 'node:assert/strict';
import { test } from 'node:test';
import { globalsSchema } from '../../../../shared/settings.ts';
import { GLOBAL_RULES } from './globals.ts';

test('the globals that a file may say are those that cross to the data plane', () => {
  const available = [...GLOBAL_RULES.values()].filter((rule) => !('planned' in rule)).map(({ name }) => name);
  assert.deepEqual(available.sort(), Object.keys(globalsSchema.shape).sort());
});
