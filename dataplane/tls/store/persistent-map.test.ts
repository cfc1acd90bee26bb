import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { PersistentMap } from './persistent-map.ts';

test('the file is whole at any time, also when a change comes before the previous ones are on disk', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'persistent-map-'));
  try {
    const path = join(folder, 'map.json');
    const log = memoryLog();
    const file = { path, schema: z.string(), what: 'the map', cost: 'it is lost', gatherMs: 0 };
    const map = new PersistentMap(file, systemClock, log);
    const read = (): Record<string, string> => JSON.parse(readFileSync(path, 'utf8'));
    map.set('large', 'x'.repeat(100_000));
    for (let tries = 0; tries < 500 && !existsSync(path); tries++) await sleep(10);
    let last = '';
    for (let change = 0; change < 300; change++) {
      last = `${change}`;
      map.set('change', last);
      await sleep(1);
      assert.equal(read().large?.length, 100_000);
    }
    for (let tries = 0; tries < 500 && read().change !== last; tries++) await sleep(10);
    assert.equal(read().change, last);
    // Another save may have begun, which would write into the folder while it is removed.
    await map.release();
    assert.deepEqual(log.lines, []);
    assert.deepEqual([...new PersistentMap(file, systemClock, log).entries()].length, 2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a map that could not be saved is saved as soon as that is possible again, without another change, and the failure is logged once', async () => {
  const root = mkdtempSync(join(tmpdir(), 'persistent-map-'));
  try {
    const folder = join(root, 'later');
    const path = join(folder, 'map.json');
    const log = memoryLog();
    const clock = new ManualClock();
    const file = { path, schema: z.string(), what: 'the map', cost: 'it is lost' };
    const map = new PersistentMap(file, clock, log);
    map.set('a', 'one');
    const pass = async (holds: () => boolean): Promise<void> => {
      for (let tries = 0; tries < 500 && !holds(); tries++) {
        clock.pass(1_000);
        await sleep(1);
      }
    };
    await pass(() => clock.monotonic() > 200_000);
    assert.deepEqual(
      log.lines.map(({ message }) => message),
      ['the map cannot be saved; it is lost'],
    );
    mkdirSync(folder);
    await pass(() => existsSync(path));
    assert.deepEqual(JSON.parse(readFileSync(path, 'utf8')), { a: 'one' });
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('what has changed is on disk when a map is released, and only the next process saves until it is reclaimed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'persistent-map-'));
  try {
    const path = join(folder, 'map.json');
    const clock = new ManualClock();
    const open = () => new PersistentMap({ path, schema: z.string(), what: 'the map', cost: 'it is lost' }, clock, memoryLog());
    const saved = (): unknown => JSON.parse(readFileSync(path, 'utf8'));
    const old = open();
    old.set('a', 'one');
    await old.release();
    const next = open();
    assert.equal(next.get('a'), 'one');
    next.set('a', 'two');
    await next.release();
    old.set('b', 'late');
    clock.pass(60_000);
    await old.release();
    assert.deepEqual(saved(), { a: 'two' });
    old.reclaim();
    clock.pass(1_000);
    await old.release();
    assert.deepEqual(saved(), { a: 'one', b: 'late' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
