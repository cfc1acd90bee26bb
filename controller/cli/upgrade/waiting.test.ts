import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { waitForOurs } from './waiting.ts';

/** A state directory whose socket is answered by processes of these containers, one after the other; the last one remains. */
async function stateOf(t: TestContext, containers: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'waiting-'));
  const left = [...containers];
  const server = createServer((socket) => {
    const processes = left.length > 1 ? left.shift() : left[0];
    socket.end(`${JSON.stringify({ description: { version: '1.2.3', pid: 7, since: 'now', processes } })}\n`);
  });
  server.listen(join(folder, 'takeover.sock'));
  await once(server, 'listening');
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return folder;
}

/** A clock that advances half a minute per reading, without waiting. */
function hasty(): Clock {
  let now = 0;
  return {
    ...systemClock,
    monotonic: () => {
      now += 30_000;
      return now;
    },
    after: (_, task) => {
      setImmediate(task);
      return () => undefined;
    },
  };
}

test('waits until a process of the same container responds', async (t) => {
  const state = await stateOf(t, ['theirs', 'theirs', 'ours']);
  assert.equal((await waitForOurs(state, systemClock, 'ours')).pid, 7);
});

test('reports after a minute which process serves instead', async (t) => {
  const state = await stateOf(t, ['theirs']);
  await assert.rejects(waitForOurs(state, hasty(), 'ours'), { message: 'after 60 s sluice 1.2.3 of another container still serves' });
  await assert.rejects(waitForOurs('/nowhere', hasty(), 'ours'), { message: 'after 60 s no process serves with this state directory' });
});
