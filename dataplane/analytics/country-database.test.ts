import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { Countries } from '../traffic/match/countries.ts';
import { openCountryDatabase } from './country-database.ts';

describe('the country database', () => {
  it('knows the country of IPv4 and IPv6 addresses, but not of private ones', () => {
    const log = memoryLog();
    const countries = new Countries(openCountryDatabase(log), log);
    const found = ['8.8.8.8', '91.198.174.192', '2a00:1450:4001:81b::200e', '127.0.0.1', '10.1.2.3', '::1', 'fe80::1', ''];
    assert.deepEqual(
      found.map((address) => countries.find(address)),
      ['US', 'NL', 'DE', '', '', '', '', ''],
    );
    assert.deepEqual(log.lines, []);
  });

  it('takes no memory until the country of a public address is needed, and then only for its family', () => {
    const log = memoryLog();
    const database = openCountryDatabase(log);
    assert.ok(database !== null);
    const isFilled = () => [database.ipv4, database.ipv6].map(({ filled }) => new Int32Array(filled)[0] === 1);
    const countries = new Countries(database, log);
    for (const address of ['127.0.0.1', '192.168.1.7', '::1', 'fd00::1', '']) countries.find(address);
    assert.deepEqual(isFilled(), [false, false]);
    countries.find('8.8.8.8');
    assert.deepEqual(isFilled(), [true, false]);
    // A second worker finds the memory filled, and needs the file no more.
    closeSync(database.ipv4.descriptor);
    assert.equal(new Countries(database, log).find('8.8.8.8'), 'US');
    assert.deepEqual(log.lines, []);
  });

  it('can be missing, which logs a warning and disables countries', () => {
    const log = memoryLog();
    const missing = openCountryDatabase(log, () => {
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
    assert.equal(new Countries(missing, log).find('8.8.8.8'), '');
  });

  it('can be damaged, which logs a warning and disables countries', () => {
    const folder = mkdtempSync(join(tmpdir(), 'countries-'));
    try {
      const path = join(folder, 'damaged.mmdb');
      writeFileSync(path, 'not a database');
      const log = memoryLog();
      assert.equal(
        openCountryDatabase(log, () => path),
        null,
      );
      assert.equal(log.lines.length, 1);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
