// Runs alone: it replaces a function of node:fs for every caller.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { openCountryDatabase } from '../../analytics/country-database.ts';
import { Countries } from './countries.ts';

test('a lookup while no file descriptor is left fails alone: the database is used once there is one', () => {
  const log = memoryLog();
  const countries = new Countries(openCountryDatabase(log), log);
  const { readFileSync } = fs;
  fs.readFileSync = ((...args: Parameters<typeof readFileSync>) => {
    if (`${args[0]}`.includes('maxmind')) throw Object.assign(new Error('EMFILE'), { code: 'EMFILE' });
    return readFileSync(...args);
  }) as typeof readFileSync;
  try {
    for (let nth = 0; nth < 3; nth++) assert.deepEqual([countries.find('8.8.8.8'), countries.available], ['', false]);
  } finally {
    fs.readFileSync = readFileSync;
  }
  assert.equal(log.lines.length, 1);
  assert.deepEqual([countries.find('8.8.8.8'), countries.available], ['US', true]);
});
