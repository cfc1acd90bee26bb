import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { test } from 'node:test';
import { Http2Client, Http2UpstreamFixture, h2c } from '../testing/http2/upstream.ts';
import { eventually, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import type { Wire } from '../testing/wire.ts';

/** A turn of the event loop in which sent bytes are read. */
const read = () => new Promise((resolve) => setTimeout(resolve, 5));

const post = (fields: string): string => `POST / HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`;
const LONG = 'Content-Length: 60000\r\n';
const ENDLESS = 'Content-Length: 10000000\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n';

/** Sends a piece each second until `seconds` have passed or the client is answered. */
async function drip(proxy: ProxyFixture, seconds: number, piece: () => void, over = (): boolean => false): Promise<void> {
  for (let second = 1; second <= seconds; second++) {
    piece();
    await read();
    proxy.clock.pass(1_000);
    await read();
    if (over()) return;
  }
}

/** How long the finished requests took (s) by the proxy's clock, regardless of when their clients received the response. */
function secondsTaken(proxy: ProxyFixture): number {
  proxy.counted();
  const reports = proxy.messages.flatMap((message) => (message.kind === 'report' ? message.report.domains : []));
  return reports.filter(({ host }) => host === 'a.test').reduce((sum, { durationSum }) => sum + durationSum, 0);
}

function tookHalfAMinute(proxy: ProxyFixture, requests = 1): void {
  const took = secondsTaken(proxy) / requests;
  assert.ok(took > 29 && took < 33, `after ${took} s`);
}

for (const [what, fields, piece] of [
  ['that is buffered whole', LONG, 'x'.repeat(400)],
  ['that streams', ENDLESS, 'x'.repeat(400)],
  ['in chunks', CHUNKED, '1\r\nx\r\n'.repeat(60)],
] as const)
  test(`a body ${what} and arrives at under 500 bytes a second is answered with 408 after half a minute`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(post(fields));
    await drip(
      proxy,
      40,
      () => client.send(piece),
      () => client.total > 0,
    );
    tookHalfAMinute(proxy);
    assert.match((await client.readAnswer()).line, / 408 /);
    await client.until('the end', () => client.ended);
    await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
    const target = upstream.connections[0];
    await target?.until('the end of the request', () => target.ended || target.closed);
    assert.deepEqual([proxy.counted().get('a.test')?.classes[3], proxy.targetChanges()], [1, []]);
  });

/** Checks that the client has not received a 408 after a minute at one byte a second. */
async function patient(proxy: ProxyFixture, client: Wire, piece = 'x'): Promise<void> {
  await drip(proxy, 59, () => client.send(piece));
  assert.doesNotMatch(client.unread, / 408 /);
  assert.equal(client.ended || client.closed, false);
}

test('a body that arrives at 600 bytes a second may take as long as it needs', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(post(LONG));
  await drip(proxy, 100, () => client.send('x'.repeat(600)));
  const { request, wire } = await upstream.nextRequest();
  assert.equal(request.body.length, 60_000);
  wire.send(ok('taken'));
  assert.equal((await client.readAnswer()).body, 'taken');
});

test('gRPC calls may send slowly', async () => {
  using service = await Http2UpstreamFixture.serving(() => undefined);
  using proxy = await h2c(service);
  const client = await proxy.connect();
  client.send(post(`${ENDLESS}Content-Type: application/grpc+proto\r\n`));
  await patient(proxy, client);
});

test('a request that says that it is a gRPC call may not send slowly to a target that can serve none', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(post(`${ENDLESS}Content-Type: application/grpc\r\n`));
  using speaker = new Http2Client(proxy);
  const fields = { ':method': 'POST', ':path': '/', ':authority': 'a.test', 'content-type': 'application/grpc' };
  const call = speaker.session.request(fields).on('error', () => undefined);
  let status: unknown = null;
  call.once('response', (received) => {
    status = received[':status'];
  });
  await drip(
    proxy,
    40,
    () => undefined,
    () => client.total > 0 && status !== null,
  );
  tookHalfAMinute(proxy, 2);
  assert.deepEqual([(await client.readAnswer()).line, status], ['HTTP/1.1 408 Request Timeout', 408]);
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
});

test('clients that are already being answered may send slowly', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const listener = await proxy.connect();
  listener.send(post(ENDLESS));
  const wire = await upstream.accept();
  wire.send('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n');
  await listener.readHead();
  await patient(proxy, listener);
});

test('the time that the upstream takes, also for a 100, does not count against the client', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const full = await proxy.connect();
  full.send(post(ENDLESS.replace('10000000', '100000000')));
  const wire = await upstream.accept();
  await wire.readHead();
  wire.socket.pause();
  full.send(Buffer.alloc(50_000_000));
  await read();
  const waiting = await proxy.connect();
  waiting.send(post(`${ENDLESS}Expect: 100-continue\r\n`));
  await upstream.accept();
  await drip(proxy, 45, () => undefined);
  assert.equal(full.total + waiting.total, 0);
  assert.equal(full.closed || full.ended || waiting.closed || waiting.ended, false);
});

test('over HTTP/2 a body that is too slow is answered with 408, and other requests on the connection continue', async () => {
  using service = await Http2UpstreamFixture.serving(() => undefined);
  using proxy = await h2c(service);
  using speaker = new Http2Client(proxy);
  const open = (fields: object): ClientHttp2Stream => {
    const stream = speaker.session.request({ ':method': 'POST', ':path': '/', ':authority': 'a.test', ...fields });
    return stream.on('error', () => stream.destroy());
  };
  const [slow, call] = [open({}), open({ 'content-type': 'application/grpc' })];
  let status: unknown = null;
  slow.once('response', (fields) => {
    status = fields[':status'];
  });
  await eventually('both requests', () => service.requests.length === 2);
  await drip(
    proxy,
    40,
    () => {
      if (slow.writable) slow.write('x');
      call.write('x');
    },
    () => status !== null,
  );
  assert.equal(status, 408);
  tookHalfAMinute(proxy);
  slow.resume();
  if (!slow.closed) await once(slow, 'close');
  assert.deepEqual([slow.rstCode, call.closed], [constants.NGHTTP2_NO_ERROR, false]);
  call.close(constants.NGHTTP2_CANCEL);
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
  assert.equal(proxy.counted().get('a.test')?.classes[3], 1);
});
