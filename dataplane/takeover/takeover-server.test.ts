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

/** A server whose upgrades wait, and a function that requests one and returns the answer. */
async function scene(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-takeover-'));
  const path = join(folder, 'takeover.sock');
  const pending: ((upgraded: Upgraded) => void)[] = [];
  const upgrade = () => new Promise<Upgraded>((resolve) => pending.push(resolve));
  const server = new TakeoverServer({ ...NO_TAKEOVER, upgrade }, systemClock, memoryLog());
  await server.listen(path);
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
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
