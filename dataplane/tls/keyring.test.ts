import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Log } from '../../shared/runtime/log/log.ts';
import { type Random, systemRandom } from '../../shared/runtime/random.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { Keyring } from './keyring.ts';

const DAY_MS = 86_400_000;

describe('the key ring', () => {
  let dir = '';
  /** The secrets of a key ring opened from a directory. */
  const openKeyring = (stateDir: string, random: Random, log: Log, now = 1_000) => {
    const { visitors, tickets } = new Keyring(stateDir, now, { random, log });
    return { visitors, tickets };
  };
  const file = () => join(dir, 'keyring.json');
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'keyring-'));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  it('is created at the first start as a private file, with no temporary files left', () => {
    const log = memoryLog();
    const { visitors } = openKeyring(dir, systemRandom, log);
    assert.equal(visitors.length, 16);
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(dir), ['keyring.json']);
    assert.deepEqual(log.lines, []);
  });

  it('is kept across restarts and different in each directory', () => {
    const first = openKeyring(dir, systemRandom, memoryLog());
    assert.deepEqual(openKeyring(dir, systemRandom, memoryLog()), first);
    const elsewhere = join(dir, 'elsewhere');
    mkdirSync(elsewhere);
    assert.notDeepEqual(openKeyring(elsewhere, systemRandom, memoryLog()), first);
  });

  const BAD = {
    empty: '',
    torn: '{"visitors":"0123',
    'no object': '[]',
    'a short key': '{"visitors":"00ff"}',
    'no key': '{}',
    binary: '\u0000\uffff',
  };
  for (const [what, text] of Object.entries(BAD)) {
    it(`is renamed and replaced if its file contains ${what}`, () => {
      writeFileSync(file(), text);
      const log = memoryLog();
      const made = openKeyring(dir, systemRandom, log);
      assert.deepEqual(
        log.lines.map((line) => line.level),
        ['error'],
      );
      assert.match(log.lines[0]?.message ?? '', /renamed and replaced/);
      const aside = readdirSync(dir).filter((name) => name !== 'keyring.json');
      assert.equal(aside.length, 1);
      assert.match(aside[0] ?? '', /^keyring\.json\.bad-[0-9a-f]{8}$/);
      assert.equal(readFileSync(join(dir, aside[0] ?? ''), 'utf8'), text);
      assert.deepEqual(openKeyring(dir, systemRandom, memoryLog()), made);
      assert.ok(!JSON.stringify(log.lines).includes('0123'), 'no secret is logged');
    });
  }

  it('survives a kill during a save, and cleans up after it', () => {
    writeFileSync(`${file()}.new`, '{"visi', { mode: 0o644 });
    const made = openKeyring(dir, systemRandom, memoryLog());
    assert.deepEqual(readdirSync(dir), ['keyring.json']);
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.deepEqual(openKeyring(dir, systemRandom, memoryLog()), made);
  });

  it('is made private again with a warning if others could read it', () => {
    const first = openKeyring(dir, systemRandom, memoryLog());
    chmodSync(file(), 0o644);
    const log = memoryLog();
    assert.deepEqual(openKeyring(dir, systemRandom, log), first);
    assert.equal(statSync(file()).mode & 0o777, 0o600);
    assert.deepEqual(
      log.lines.map((line) => line.level),
      ['warn'],
    );
  });

  it('lasts as long as the process if it cannot be saved, and logs that', () => {
    const log = memoryLog();
    const missing = join(dir, 'missing');
    assert.equal(openKeyring(missing, systemRandom, log).visitors.length, 16);
    assert.match(log.lines[0]?.message ?? '', /cannot be saved/);
    assert.equal(existsSync(missing), false);
  });

  it('is renewed although what a killed process left can neither be used nor removed', () => {
    const first = openKeyring(dir, systemRandom, memoryLog());
    mkdirSync(`${file()}.new`);
    const log = memoryLog();
    const ring = new Keyring(dir, DAY_MS + 1_000, { random: systemRandom, log });
    assert.deepEqual(ring.visitors, first.visitors);
    assert.notDeepEqual(ring.tickets, first.tickets);
    assert.equal(ring.renewTickets(3 * DAY_MS), true);
    assert.equal(log.lines.length, 2);
    assert.match(log.lines[0]?.message ?? '', /cannot be saved/);
  });

  it('is not replaced if it exists but cannot be read', () => {
    mkdirSync(file());
    assert.throws(() => openKeyring(dir, systemRandom, memoryLog()), /EISDIR/);
    assert.ok(statSync(file()).isDirectory());
  });

  it('encrypts tickets with the same keys after a restart, and with new ones after a day', () => {
    const first = openKeyring(dir, systemRandom, memoryLog());
    assert.equal(first.tickets.length, 48);
    assert.deepEqual(openKeyring(dir, systemRandom, memoryLog(), DAY_MS), first);
    const later = openKeyring(dir, systemRandom, memoryLog(), DAY_MS + 1_000);
    assert.notDeepEqual(later.tickets, first.tickets);
    assert.deepEqual(later.visitors, first.visitors);
  });

  it('rotates ticket keys while running once a day, and when the clock was set back', () => {
    const ring = new Keyring(dir, DAY_MS, { random: systemRandom, log: memoryLog() });
    const { tickets } = ring;
    assert.equal(ring.renewTickets(2 * DAY_MS - 1), false);
    assert.equal(ring.renewTickets(2 * DAY_MS), true);
    assert.notDeepEqual(ring.tickets, tickets);
    assert.equal(ring.renewTickets(DAY_MS), true);
    assert.deepEqual(openKeyring(dir, systemRandom, memoryLog(), DAY_MS).tickets, ring.tickets);
  });

  it('of an earlier version keeps its visitor key and gets ticket keys', () => {
    writeFileSync(file(), `{"visitors":"${'0f'.repeat(16)}"}`, { mode: 0o600 });
    const log = memoryLog();
    const first = openKeyring(dir, systemRandom, log);
    assert.deepEqual([Buffer.from(first.visitors).toString('hex'), log.lines], ['0f'.repeat(16), []]);
    assert.deepEqual(openKeyring(dir, systemRandom, memoryLog()), first);
  });
});
