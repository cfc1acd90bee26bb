import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';

let root: string;

before(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'open-files-'));
  fs.writeFileSync(path.join(root, 'large.bin'), Buffer.alloc(1_000_000));
  fs.writeFileSync(path.join(root, 'small.txt'), 'small');
});
after(() => fs.rmSync(root, { recursive: true }));

const files = (): RouteInput => ({ domain: 'a.test', upstream: null, tls: false, root, file_server: {} });

test('clients that read nothing keep at most half of the descriptors open with files, and others are served', async () => {
  using proxy = await ProxyFixture.with([files()], { maxSockets: 40 });
  using silent = await Frames.plain(proxy.port);
  // A window of nothing: responses can begin, and their bodies wait.
  silent.greet([INITIAL_WINDOW, 0]);
  const streams = Array.from({ length: 30 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) silent.request(stream, head([':scheme', 'http'], [':path', '/large.bin']));
  await silent.until('all responses', () => silent.received.filter(({ type }) => type === FRAME.headers).length === streams.length);
  const { connections } = proxy.ledger;
  assert.equal(connections.sockets() - connections.open(), 20);
  assert.equal((await proxy.request(get('/small.txt'))).body, 'small');
  assert.match((await proxy.request(get('/large.bin'))).line, / 503 /);
  silent[Symbol.dispose]();
  await eventually('their files to be closed', () => connections.sockets() === connections.open());
  assert.equal((await proxy.request(get('/large.bin'))).body.length, 1_000_000);
  assert.match((await proxy.request('HEAD /large.bin HTTP/1.1\r\nHost: a.test\r\n\r\n')).line, / 200 /);
  assert.equal(connections.sockets(), connections.open());
});
