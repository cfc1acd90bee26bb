import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { Countries } from '../traffic/match/countries.ts';
import { readCountryDatabase } from './country-database.ts';

describe('the country database', () => {
  it('knows the country of IPv4 and IPv6 addresses, but not of private ones', () => {
    const log = memoryLog();
    const countries = new Countries(readCountryDatabase(log));
    const found = ['8.8.8.8', '91.198.174.192', '2a00:1450:4001:81b::200e', '127.0.0.1', '10.1.2.3', '::1', 'fe80::1', ''];
    assert.deepEqual(
      found.map((address) => countries.find(address)),
      ['US', 'NL', 'DE', '', '', '', '', ''],
    );
    assert.deepEqual(log.lines, []);
  });

  it('can be missing, which logs a warning and disables countries', () => {
    const log = memoryLog();
    const missing = readCountryDatabase(log, () => {
      throw new Error('Cannot find module');
    });
    assert.equal(missing, null);
    assert.deepEqual(
      log.lines.map(({ level, message }) => [level, message]),
      [
        [
          'warn',
          'the country database could not be read: countries are not counted, and rules of ip_filter about countries reject every client',
        ],
      ],
    );
    assert.equal(new Countries(missing).find('8.8.8.8'), '');
  });

  it('can be damaged, which logs a warning and disables countries', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countries-'));
    try {
      const path = join(folder, 'damaged.mmdb');
      writeFileSync(path, 'not a database');
      const log = memoryLog();
      assert.equal(
        readCountryDatabase(log, () => path),
        null,
      );
      assert.equal(log.lines.length, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
