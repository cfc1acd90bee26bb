import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CODE, FLAG, FRAME, type Frames } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const MAX_STREAM_ID = 0x7fffffff;

/** The last streams and codes of the GOAWAYs so far. */
const goAways = (client: Frames): [number, number][] =>
  client.of(0, FRAME.goAway).map(({ payload }) => [payload.readUInt32BE(0), payload.readUInt32BE(4)]);
const pings = (client: Frames) => client.of(0, FRAME.ping).filter(({ flags }) => (flags & FLAG.ack) === 0);

test('a connection of a worker that shuts down ends in two steps, and requests that were on their way are served (RFC 9113 6.8)', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1);
  await client.until('an answer', () => client.status(1) === 200);
  secure.proxy.drain();
  await client.until('the first GOAWAY', () => pings(client).length === 1);
  assert.deepEqual(goAways(client), [[MAX_STREAM_ID, CODE.none]]);
  client.request(3);
  const [ping] = pings(client);
  client.send(FRAME.ping, FLAG.ack, 0, ping?.payload ?? '');
  await client.until('the second GOAWAY', () => goAways(client).length === 2);
  assert.deepEqual(goAways(client)[1], [3, CODE.none]);
  await client.until('the end', () => client.closed);
  assert.equal(client.status(3), 200);
});

test('a client that does not answer gets the second GOAWAY after a second', async () => {
  using upstream = await UpstreamFixture.serving(() => null);
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1);
  await upstream.nextRequest();
  secure.proxy.drain();
  await client.until('the first GOAWAY', () => goAways(client).length === 1);
  secure.proxy.clock.pass(1_000);
  await client.until('the second GOAWAY', () => goAways(client).length === 2);
  assert.deepEqual(goAways(client)[1], [1, CODE.none]);
  // Later requests are ignored, and the one that is served is completed.
  client.request(3);
  await client.answered();
  assert.deepEqual([client.status(3), client.resetCode(3), client.closed], [undefined, undefined, false]);
});

test('a client that never acknowledges our SETTINGS is disconnected (RFC 9113 6.5.3)', async () => {
  using secure = await SecureFixture.of([]);
  const client = await secure.connect();
  client.greet();
  client.acknowledges = false;
  await client.answered();
  secure.proxy.clock.pass(19_000);
  await client.answered();
  secure.proxy.clock.pass(2_000);
  await client.until('the end', () => client.closed);
  assert.equal(client.goneCode, 4);
});

test('a client that is silent while its request is served gets a PING', async () => {
  using upstream = await UpstreamFixture.serving(() => null);
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1);
  const { wire } = await upstream.nextRequest();
  await client.answered();
  secure.proxy.clock.pass(1_000);
  await nextTurn();
  secure.proxy.clock.pass(30_000);
  await client.until('a PING', () => pings(client).length === 1);
  secure.proxy.clock.pass(30_000);
  await wire.until('its upstream to be released', () => wire.closed || wire.ended);
});

test('a request on a connection whose client has not begun to speak HTTP/2 when the worker shuts down is served', async () => {
  using upstream = await UpstreamFixture.serving(ok('x'));
  using secure = await SecureFixture.before(upstream);
  const client = await secure.connect();
  secure.proxy.drain('on-response');
  await client.until('the first GOAWAY', () => goAways(client).length === 1);
  client.greet();
  client.request(1);
  await client.until('an end', () => client.closed || client.status(1) !== undefined);
  assert.equal(client.status(1), 200);
});
