import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inNamespace } from './takeover/namespace.ts';
import type { Played } from './takeover/play.ts';

const skip = process.platform === 'linux' ? false : 'elsewhere there is no tcp_migrate_req, and one worker';

async function play(replacements: number, upgrades: number, requests: number): Promise<Played> {
  const played = await inNamespace<Played>('./play.ts', [replacements, upgrades, requests].map(String), { migrate: true });
  const { onNew, onKept } = played.answered;
  assert.ok(onNew + onKept >= requests, `${onNew + onKept} requests were answered`);
  assert.ok(Math.min(onNew, onKept) > requests / 3, `on new connections ${onNew}, on kept ones ${onKept}`);
  return played;
}

test('10 replacements of all workers lose none of 15,000 requests on new and kept connections', { skip, timeout: 110_000 }, async () => {
  assert.deepEqual((await play(10, 0, 15_000)).lost, {});
});
