import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { RunningAdmin, sendRequest } from './testing/running-admin.ts';

const turn = () => new Promise(setImmediate);

test('a socket that can’t be opened for long leaves nothing behind for each attempt', async () => {
  const clock = new ManualClock();
  let repeated = 0;
  const counting = Object.assign(Object.create(clock) as ManualClock, {
    every: (ms: number, task: () => void) => {
      const stop = clock.every(ms, task);
      repeated++;
      return () => {
        repeated--;
        stop();
      };
    },
  });
  await using api = await RunningAdmin.start({ clock: counting });
  const before = repeated;
  const path = join(api.folder, 'missing', 'admin.sock');
  const said: string[] = [];
  await api.admin.listenSocketLate(path, { failed: () => said.push('failed'), opened: () => said.push('opened') });
  for (let tries = 0; tries < 20; tries++) {
    clock.pass(10_000);
    await turn();
    await turn();
  }
  assert.equal(repeated, before);
  mkdirSync(dirname(path));
  clock.pass(10_000);
  while (said.length < 2) await turn();
  assert.deepEqual([said, repeated], [['failed', 'opened'], before + 1]);
  assert.equal((await sendRequest({ socketPath: path, method: 'GET', path: '/health' })).status, 200);
});
