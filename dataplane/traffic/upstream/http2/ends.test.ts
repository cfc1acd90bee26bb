import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block, CODE, type Field, FLAG, FRAME, frame } from '../../testing/http2/frames.ts';
import { h2c } from '../../testing/http2/upstream.ts';
import { eventually, get, type ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../../testing/test-upstream.ts';

const OK: Field = [':status', '200'];
const TOLD: Field = ['content-length', '5'];
const head = (...fields: Field[]) => frame(FRAME.headers, FLAG.endHeaders, 1, block(fields));
const data = (text: string, flags = 0) => frame(FRAME.data, flags, 1, text);
/** RFC 9113 8.1: what a target may send after a complete response if it needs no more of the request. */
const RESET = frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, CODE.none]));
const FAILED = frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, CODE.cancel]));
/** SETTINGS_INITIAL_WINDOW_SIZE 0. */
const NO_WINDOW = Buffer.from([0, 4, 0, 0, 0, 0]);
/** The request's HEADERS frame, which ends its stream. */
const ASKED = '\x01\x05\0\0\0\x01';

/**
 * What an HTTP/1.1 client that pipelines two requests receives if the target answers the first one with these frames and never answers the
 * second.
 */
async function received(proxy: ProxyFixture, upstream: UpstreamFixture, frames: readonly Buffer[]): Promise<string> {
  const wire = await proxy.connect();
  wire.send(get() + get('/next'));
  const target = await upstream.accept();
  target.send(frame(FRAME.settings, 0, 0));
  await target.until('the request', () => target.unread.includes(ASKED));
  target.send(Buffer.concat(frames));
  await wire.until('the result', () => wire.closed || wire.ended || wire.unread.endsWith('01234') || wire.unread.endsWith('\r\n0\r\n\r\n'));
  return wire.unread.slice(wire.unread.indexOf('\r\n\r\n') + 4);
}

for (const [what, frames, body, cut] of [
  ['that is reset before it is complete', [head(OK), data('012'), RESET], '3\r\n012\r\n', true],
  ['with a length that is reset before it is complete', [head(OK, TOLD), data('012'), RESET], '012', true],
  ['that is reset once it is complete', [head(OK), data('01234', FLAG.endStream), RESET], '5\r\n01234\r\n0\r\n\r\n', false],
  ['with a length that is reset once it is complete', [head(OK, TOLD), data('01234', FLAG.endStream), RESET], '01234', false],
  ['with a length that is reset instead of ended once all of it has come', [head(OK, TOLD), data('01234'), RESET], '01234', false],
  ['without a length that is reset instead of ended', [head(OK), data('01234'), RESET], '5\r\n01234\r\n', true],
  ['with a length that fails once all of it has come', [head(OK, TOLD), data('01234'), FAILED], '01234', true],
  ['whose END_STREAM comes alone', [head(OK), data('01234'), data('', FLAG.endStream)], '5\r\n01234\r\n0\r\n\r\n', false],
] as const)
  test(`a response ${what} is ${cut ? 'truncated, and nothing follows it on its connection' : 'complete for the client'}`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await h2c(upstream);
    assert.equal(await received(proxy, upstream, frames), body);
    // The second request waits for the target.
    assert.equal(proxy.ledger.inFlight.total(), cut ? 0 : 1);
  });

test('a request that waits for the window of its target ends with its response, so that its connection can end', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await h2c(upstream);
  const wire = await proxy.connect();
  wire.send('POST / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\n\r\nhello');
  const target = await upstream.accept();
  target.send(Buffer.concat([frame(FRAME.settings, 0, 0, NO_WINDOW), frame(FRAME.settings, FLAG.ack, 0)]));
  await target.until('the request', () => target.unread.includes('\x01\x04\0\0\0\x01'));
  target.send(frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, block([OK])));
  assert.equal((await wire.readAnswer()).line, 'HTTP/1.1 200 OK');
  await target.until('the reset of the stream', () => target.unread.includes(RESET.toString('latin1')));
  // The connection is idle.
  proxy.clock.pass(31_000);
  await eventually('the connection to be closed', () => proxy.ledger.connections.sockets() === proxy.ledger.connections.open());
});
