import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '../runtime/clock.ts';
import { serviceManager } from './service-manager.ts';

test('a notification for which no program can be started is reported, and ends nothing', async () => {
  const failures: string[] = [];
  const manager = serviceManager({ NOTIFY_SOCKET: '/none' }, systemClock, (reason) => failures.push(reason));
  // Node throws an error for it, as if there is no memory for another process.
  manager.ready('a\0b');
  await manager.sent();
  assert.equal(failures.length, 1);
  assert.match(failures[0] ?? '', /null bytes/);
});
