// Runs alone: it measures the memory of its process.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { garbageCollector } from '../../../../shared/runtime/v8-flags.ts';
import { FrameTargetFixture } from '../../testing/http2/frame-target.ts';
import { block, FLAG, FRAME, Frames, frame, head, SETTING } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

type Target = { readonly proxy: ProxyFixture; begin(): void; send(piece: string): void; [Symbol.dispose](): void };

/** A target that begins a response of unknown length, and sends its body in these pieces. */
async function http1(): Promise<Target> {
  const upstream = await UpstreamFixture.start();
  const proxy = await ProxyFixture.before(upstream);
  const asked = upstream.nextRequest();
  return {
    proxy,
    begin: () => void asked.then(({ wire }) => wire.send('HTTP/1.1 200 OK\r\n\r\n')),
    send: (piece) => void asked.then(({ wire }) => wire.send(piece)),
    [Symbol.dispose]() {
      proxy[Symbol.dispose]();
      upstream[Symbol.dispose]();
    },
  };
}

async function http2(): Promise<Target> {
  const upstream = await FrameTargetFixture.serving((wire) =>
    wire.write(frame(FRAME.headers, FLAG.endHeaders, 1, block([[':status', '200']]))),
  );
  const proxy = await h2c(upstream);
  return {
    proxy,
    begin: () => undefined,
    send: (piece) => upstream.connections[0]?.write(frame(FRAME.data, 0, 1, piece)),
    [Symbol.dispose]() {
      proxy[Symbol.dispose]();
      upstream[Symbol.dispose]();
    },
  };
}

for (const [protocol, start] of [
  ['HTTP/1.1', http1],
  ['HTTP/2', http2],
] as const)
  for (const [pieces, size] of [
    [400, 9],
    [60, 4_200],
  ] as const)
    test(`a client that does not read a response over ${protocol} in pieces of ${size} B costs little more memory than these`, async () => {
      using target = await start();
      using client = (await Frames.plain(target.proxy.port)).greet([SETTING.initialWindow, 0]);
      client.request(1, head([':scheme', 'http']));
      target.begin();
      await client.until('the head', () => client.status(1) === 200);
      const collect = garbageCollector();
      collect();
      const before = process.memoryUsage().arrayBuffers;
      for (let piece = 0; piece < pieces; piece++) {
        target.send('d'.repeat(size));
        await client.answered();
      }
      collect();
      const used = process.memoryUsage().arrayBuffers - before;
      assert.ok(used < 2_000_000, `${used} bytes for ${pieces} pieces`);
    });
