import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { ManualClock } from '../../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../../shared/runtime/testing/memory-log.ts';
import { Attempts } from './attempts.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'attempts-'));
});
afterEach(() => rmSync(folder, { recursive: true, maxRetries: 10 }));
const file = () => join(folder, 'issuing.json');
const FAILED = { failures: 2, nextTry: 5_000, lastError: 'a.test: refused' };

/** Waits until the file has the expected content. */
async function saved(expected: object, part: (file: object) => object = (all) => all): Promise<void> {
  for (const end = performance.now() + 60_000; ; ) {
    try {
      return assert.deepEqual(part(JSON.parse(readFileSync(file(), 'utf8'))), expected);
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

test('failures are remembered across a restart and forgotten after a success', async () => {
  const clock = new ManualClock();
  const attempts = new Attempts(folder, clock, memoryLog());
  attempts.set('a.test', FAILED);
  attempts.set('b.test', FAILED);
  clock.pass(1_000);
  await saved({ 'a.test': FAILED, 'b.test': FAILED });
  assert.equal(statSync(file()).mode & 0o777, 0o600);
  const next = new Attempts(folder, clock, memoryLog());
  assert.deepEqual(next.get('a.test'), FAILED);
  next.set('a.test', null);
  clock.pass(1_000);
  await saved({ 'b.test': FAILED });
});

test('changing the ACME settings clears backoffs; a restart does not', async () => {
  const clock = new ManualClock();
  const settings = { directory: 'https://ca.test/dir', binding: null };
  const attempts = new Attempts(folder, clock, memoryLog());
  attempts.setSettings(settings);
  attempts.set('a.test', FAILED);
  clock.pass(1_000);
  await saved(['a.test'], (file) => Object.keys(file));
  const next = new Attempts(folder, clock, memoryLog());
  next.setSettings({ ...settings });
  assert.deepEqual(next.get('a.test'), FAILED);
  next.setSettings({ ...settings, binding: { kid: 'k', key: 'xyzzy' } });
  assert.equal(next.get('a.test'), null);
  next.set('a.test', FAILED);
  assert.deepEqual(next.get('a.test'), FAILED);
  next.setSettings(settings);
  assert.equal(next.get('a.test'), null);
});

test('an unreadable file only loses the backoffs', () => {
  for (const text of ['', '{"a.test":{"failures":"x"}}', '[]']) {
    writeFileSync(file(), text);
    const log = memoryLog();
    assert.equal(new Attempts(folder, new ManualClock(), log).get('a.test'), null);
    assert.equal(log.lines[0]?.level, 'warn');
  }
});
