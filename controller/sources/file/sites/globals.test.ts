import assert from 'node:assert/strict';
import { test } from 'node:test';
import { globalsSchema } from '../../../../shared/settings.ts';
import { GLOBAL_RULES } from './globals.ts';

test('the globals of a file and the settings accepted by the data plane are the same', () => {
  const crossing = Object.keys(globalsSchema.shape);
  for (const rule of GLOBAL_RULES.values()) assert.ok(crossing.includes(rule.name), rule.name);
  for (const name of crossing) assert.ok(GLOBAL_RULES.has(name), name);
});
