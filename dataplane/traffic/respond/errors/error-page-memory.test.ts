// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';

const SIZE = 1_000_000;
let root: string;
let proxy: ProxyFixture;

before(async () => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'error-page-memory-'));
  write('old');
  const pages = [{ files: { root, paths: ['/page.html'] } }];
  proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, handle_errors: pages, upstreams: [] }]);
});
after(() => {
  proxy[Symbol.dispose]();
  fs.rmSync(root, { recursive: true });
});

/** A page that has not been changed for a while. */
function write(text: string): void {
  const file = path.join(root, 'page.html');
  fs.writeFileSync(file, text.padEnd(SIZE));
  fs.utimesSync(file, 1_000_000_000, 1_000_000_000);
}

test('clients that read nothing of an error page share its memory, and a changed page is sent at once', async () => {
  const before = process.memoryUsage().arrayBuffers;
  using silent = await Frames.plain(proxy.port);
  silent.greet([INITIAL_WINDOW, 0]);
  const streams = Array.from({ length: 100 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) silent.request(stream, head([':scheme', 'http'], [':path', `/${stream}`]));
  await silent.until('all responses', () => streams.every((stream) => silent.of(stream, FRAME.headers).length === 1));
  const used = process.memoryUsage().arrayBuffers - before;
  assert.ok(used < 10 * SIZE, `${used} bytes`);
  write('new');
  assert.ok((await proxy.request(get('/'))).body.startsWith('new'));
  const { body } = await proxy.request(get('/other'));
  assert.equal(body, 'new'.padEnd(SIZE));
});
