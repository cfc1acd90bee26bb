import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Clock, systemClock } from '../../../shared/runtime/clock.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { noteWaiting, waitForOurs } from './waiting.ts';

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

test('an upgrade that takes long says what it waits for, once, and that a process does not answer', async () => {
  const running = { version: '1.2.3', pid: 7, since: 'now', processes: null };
  const said = async (describe: () => Promise<typeof running | null>, ms: number): Promise<string[]> => {
    const clock = new ManualClock();
    const lines: string[] = [];
    const stop = noteWaiting(clock, describe, (line) => lines.push(line));
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.pass(1_000);
      await new Promise(setImmediate);
    }
    stop();
    clock.pass(60_000);
    return lines;
  };
  const answers = () => Promise.resolve(running);
  assert.deepEqual(await said(answers, 4_000), []);
  assert.deepEqual(await said(answers, 30_000), [
    'waiting for the new process, which may take 60 s to start; sluice 1.2.3 (process 7) serves meanwhile, and the upgrade goes on if you end this command',
  ]);
  assert.deepEqual(await said(() => Promise.resolve(null), 10_000), []);
  assert.match((await said(() => Promise.resolve(null), 30_000)).join(), /^the running process does not answer: it hangs or is suspended/);
});
