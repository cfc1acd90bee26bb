import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../shared/runtime/clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import type { Upgraded } from '../../shared/wire/takeover.ts';
import { TakeoverClient } from './takeover-client.ts';
import { type HandoverSteps, TakeoverServer } from './takeover-server.ts';

const UPGRADED: Upgraded = { old: { version: '1', pid: 1 }, new: { version: '2', pid: 2 } };
const unused = (): never => assert.fail('this is no takeover');
const NO_TAKEOVER: HandoverSteps = {
  describe: unused,
  upgrade: unused,
  release: unused,
  reclaim: unused,
  offerListeners: unused,
  ports: unused,
  closeAdmin: unused,
  openAdmin: unused,
  leave: unused,
};

/** @returns the path of a server with these steps. */
async function serving(t: TestContext, steps: Partial<HandoverSteps>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-takeover-'));
  const path = join(folder, 'takeover.sock');
  const server = new TakeoverServer({ ...NO_TAKEOVER, ...steps }, systemClock, memoryLog());
  await server.listen(path);
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  return path;
}

/** A server whose upgrades wait, and a function that requests one and returns the answer. */
async function scene(t: TestContext) {
  const pending: ((upgraded: Upgraded) => void)[] = [];
  const path = await serving(t, { upgrade: () => new Promise<Upgraded>((resolve) => pending.push(resolve)) });
  const request = async (): Promise<unknown> => {
    const socket = connect(path).setEncoding('utf8');
    socket.write('{"upgrade":{"launcher":"/sluice"}}\n');
    let text = '';
    socket.on('data', (more: string) => {
      text += more;
    });
    await once(socket, 'end');
    return JSON.parse(text);
  };
  return { pending, request };
}

test('a second request for an upgrade is refused, and the first one gets the result', async (t) => {
  const { pending, request } = await scene(t);
  const first = request();
  while (pending.length === 0) await new Promise(setImmediate);
  assert.deepEqual(await request(), { refused: { reason: 'another upgrade is under way' } });
  assert.equal(pending.length, 1);
  pending[0]?.(UPGRADED);
  assert.deepEqual(await first, { upgraded: UPGRADED });

  const next = request();
  while (pending.length === 1) await new Promise(setImmediate);
  pending[1]?.(UPGRADED);
  assert.deepEqual(await next, { upgraded: UPGRADED });
});

test('a successor that gets no table learns why', async (t) => {
  let reclaimed = 0;
  const path = await serving(t, {
    describe: () => ({ version: '1', pid: 1, since: 'now', processes: null }),
    release: () => Promise.reject(new Error('the disk is full')),
    reclaim: () => {
      reclaimed++;
    },
  });
  for (let tries = 1; tries <= 2; tries++) {
    await assert.rejects(TakeoverClient.start(path, { version: '2', pid: 2 }, systemClock), /the disk is full/);
    assert.equal(reclaimed, tries);
  }
});
