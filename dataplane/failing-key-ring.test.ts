// Runs alone: it replaces a function of node:fs for every caller.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../shared/runtime/clock.ts';
import { systemRandom } from '../shared/runtime/random.ts';
import { memoryLog } from '../shared/runtime/testing/memory-log.ts';
import { openKeyring } from './boot.ts';

test('a key ring that a failing disk keeps from being read is no usage error: a service manager starts the process again', (t) => {
  const path = fs.mkdtempSync(join(tmpdir(), 'key-ring-'));
  const original = fs.readFileSync;
  let code = '';
  fs.readFileSync = (() => {
    throw Object.assign(new Error(`${code}: injected`), { code });
  }) as typeof fs.readFileSync;
  syncBuiltinESMExports();
  t.after(() => {
    fs.readFileSync = original;
    syncBuiltinESMExports();
    fs.rmSync(path, { recursive: true });
  });
  for (const [failure, exitCode] of [
    ['EIO', 1],
    ['ESTALE', 1],
    ['EACCES', 2],
    ['EISDIR', 2],
  ] as const) {
    code = failure;
    const open = () => openKeyring(path, { clock: systemClock, random: systemRandom, log: memoryLog() });
    assert.throws(open, { message: new RegExp(`can't use the key ring in ${path}: ${failure}`), exitCode }, failure);
  }
});
