import assert from 'node:assert/strict';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { block, FLAG, FRAME, frame, SETTING } from '../../testing/http2/frames.ts';
import { Http2UpstreamFixture } from '../../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';

const SECOND = 1_000;
const GOAWAY = frame(FRAME.goAway, 0, 0, Buffer.alloc(8));
/** SETTINGS with a limit of streams. */
function limit(streams: number): Buffer {
  const payload = Buffer.alloc(6);
  payload.writeUInt16BE(SETTING.maxConcurrentStreams);
  payload.writeUInt32BE(streams, 2);
  return frame(FRAME.settings, 0, 0, payload);
}

/** A target that handles each connection in a way that depends on its number. */
class Target {
  readonly sockets: Socket[] = [];
  private readonly server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => this.handle(socket, this.sockets.push(socket)));
  });
  private readonly handle: (socket: Socket, nth: number) => void;

  private constructor(handle: (socket: Socket, nth: number) => void) {
    this.handle = handle;
  }

  static async start(handle: (socket: Socket, nth: number) => void): Promise<Target> {
    const target = new Target(handle);
    await new Promise<void>((resolve) => target.server.listen(0, '127.0.0.1', resolve));
    return target;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Accepts no more connections. */
  close(): void {
    this.server.close();
  }

  [Symbol.dispose](): void {
    this.close();
    for (const socket of this.sockets) socket.destroy();
  }
}

/** Turns of the event loop, in which a target can answer many connections. */
async function turns(count = 500): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

for (const [ends, handle] of [
  ['announces its end', (socket: Socket) => socket.write(Buffer.concat([limit(0), GOAWAY]))],
  ['is closed', (socket: Socket) => socket.end(limit(0))],
  ['is reset', (socket: Socket) => socket.write(limit(0), () => socket.resetAndDestroy())],
] as const)
  test(`a connection that takes no request and ${ends} fails the request that waits for it, which another target answers`, async () => {
    using target = await Target.start(handle);
    using other = await Http2UpstreamFixture.serving(({ stream }) => stream.respond({ ':status': 204 }, { endStream: true }));
    const transport = { protocol: 'h2c' } as const;
    using proxy = await ProxyFixture.start([
      { ...site('a.test', target), transport },
      { ...site('b.test', target, other), transport },
    ]);
    assert.match((await proxy.request(get())).line, / 502 /);
    assert.equal(target.sockets.length, 1);
    assert.match((await proxy.request(get().replace('a.test', 'b.test'))).line, / 204 /);
    assert.ok(target.sockets.length <= 2);
  });

test('a request that waits for a busy connection opens another about once a second while the target turns that away', async () => {
  using target = await Target.start((socket, nth) => {
    if (nth === 1) socket.write(limit(1));
    else socket.end(limit(0));
  });
  using proxy = await ProxyFixture.start([{ ...site('a.test', target), transport: { protocol: 'h2c' } }]);
  const first = await proxy.connect();
  first.send(get());
  await eventually('it to be sent', () => target.sockets.length === 1);
  const second = await proxy.connect();
  second.send(get());
  await eventually('another connection', () => target.sockets.length === 2);
  await turns();
  assert.equal(target.sockets.length, 2);
  proxy.clock.pass(SECOND);
  await eventually('a third one', () => target.sockets.length === 3);
  target.sockets[0]?.write(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, block([[':status', '204']])));
  assert.match((await first.readAnswer()).line, / 204 /);
  target.sockets[0]?.write(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 3, block([[':status', '200']])));
  assert.match((await second.readAnswer()).line, / 200 /);
});

test('a request that waits for a busy connection of a target that refuses any other is a 503 in the end', async () => {
  using target = await Target.start((socket) => socket.write(limit(1)));
  using proxy = await ProxyFixture.start([{ ...site('a.test', target), transport: { protocol: 'h2c' } }]);
  const first = await proxy.connect();
  first.send(get());
  await eventually('it to be sent', () => target.sockets.length === 1);
  target.close();
  const second = await proxy.connect();
  second.send(get());
  await eventually('it to wait', () => proxy.ledger.inFlight.total() === 2);
  await turns();
  for (let seconds = 0; seconds < 7; seconds++) {
    proxy.clock.pass(SECOND);
    await turns(20);
  }
  assert.match((await second.readAnswer()).line, / 503 /);
});
