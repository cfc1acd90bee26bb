import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inNamespace } from './namespace.ts';
import type { TakeoverResults } from './play.ts';

const skip = process.platform === 'linux' ? false : 'elsewhere the kernel has no network namespaces';

test('10 upgrades lose none of 25,000 requests, although tcp_migrate_req is off', { skip }, async () => {
  const { answered, lost } = await inNamespace<TakeoverResults>('./play.ts', ['10', '25000']);
  const { onNew, onKept } = answered;
  assert.deepEqual(lost, {});
  assert.ok(onNew + onKept >= 25_000, `${onNew + onKept} requests were answered`);
  assert.ok(Math.min(onNew, onKept) > 7_500, `on new connections ${onNew}, on kept ones ${onKept}`);
});
