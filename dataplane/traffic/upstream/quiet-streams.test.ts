import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';

const MINUTE = 60_000;

test('an event stream may be silent without a limit', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Type: Text/Event-Stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata1\r\n');
  await client.readThrough('data1\r\n');
  for (let minute = 0; minute < 30; minute++) proxy.clock.pass(MINUTE);
  wire.send('5\r\ndata2\r\n');
  assert.equal(await client.readThrough('data2\r\n'), '5\r\ndata2\r\n');
  assert.deepEqual(proxy.targetChanges(), []);
});

test('a response or a request body that keeps flowing is never cut off, however long it takes', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n');
  const wire = await upstream.accept();
  await wire.readHead();
  for (let piece = 0; piece < 5; piece++) {
    client.send(`7530\r\n${'x'.repeat(30_000)}\r\n`);
    await wire.readThrough('x\r\n');
    proxy.clock.pass(MINUTE - 1_500);
  }
  client.send('0\r\n\r\n');
  await wire.readThrough('0\r\n\r\n');
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n');
  await client.readHead();
  for (let piece = 0; piece < 5; piece++) {
    wire.send('y');
    assert.equal(await client.read(1), 'y');
    proxy.clock.pass(MINUTE - 1_500);
  }
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 1, 0, 0, 0, 0]);
});

test('a target that stops reading a body causes a 504 after a minute, and the client is not blamed', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 100000000\r\n\r\n');
  const wire = await upstream.accept();
  wire.socket.pause();
  // More than the buffers of two sockets hold, so the rest must wait.
  const stuck = new Promise<void>((resolve) => {
    const block = Buffer.alloc(1_048_576);
    let left = 60;
    const more = () => {
      while (left-- > 0) if (!client.socket.write(block)) return void client.socket.once('drain', more);
    };
    more();
    const idle = { bytes: -1 };
    const look = setInterval(() => {
      const { bytesWritten, writableLength } = client.socket;
      if (bytesWritten - writableLength === idle.bytes) {
        clearInterval(look);
        resolve();
      }
      idle.bytes = bytesWritten - writableLength;
    }, 200);
  });
  await stuck;
  for (let half = 0; half < 125; half++) proxy.clock.pass(500);
  assert.match((await client.readAnswer()).line, / 504 /);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 1, 0]);
});
