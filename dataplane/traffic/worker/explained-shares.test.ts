import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProxyFixture, site } from '../testing/proxy/test-proxy.ts';

test('explain shows the same one of several groups each time', async () => {
  const group = (from: number, to: number) => ({
    path: null,
    match: { name: `${from} to ${to}`, share: { from, to, of: 4 } },
    respond: { status: 200, body: '' },
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test'), handles: [group(0, 1), group(1, 4)] }]);
  const blocks = Array.from({ length: 40 }, () => proxy.dryRun('http://a.test/').block?.path);
  assert.deepEqual([...new Set(blocks)], ['0 to 1']);
});
