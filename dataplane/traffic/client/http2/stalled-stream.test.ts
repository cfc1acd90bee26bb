// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../../../shared/runtime/v8-flags.ts';
import { Frames, head, SETTING } from '../../testing/http2/frames.ts';
import { ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

for (const [pieces, size] of [
  [400, 9],
  [60, 5_000],
] as const)
  test(`a client that does not read a response in pieces of ${size} B costs little more memory than the bytes that wait for it`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    using client = (await Frames.plain(proxy.port)).greet([SETTING.initialWindow, 0]);
    client.request(1, head([':scheme', 'http']));
    const { wire } = await upstream.nextRequest();
    wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n');
    await client.until('the head', () => client.status(1) === 200);
    const collect = garbageCollector();
    collect();
    const before = process.memoryUsage().arrayBuffers;
    for (let piece = 0; piece < pieces; piece++) {
      wire.send('d'.repeat(size));
      await client.answered();
    }
    collect();
    const used = process.memoryUsage().arrayBuffers - before;
    assert.ok(used < 1_000_000, `${used} bytes for ${pieces} pieces`);
  });
