import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { CODE, FLAG, FRAME, type Frames, frame, head } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { eventually, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

test('a client that waits for 100 Continue sends its body once the upstream has sent the 100 (RFC 9110 10.1.1)', async () => {
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1, head([':method', 'POST'], ['content-length', '5'], ['expect', '100-continue']), 0);
  const wire = await upstream.accept();
  const asked = await wire.readHead();
  assert.equal(field(asked, 'expect'), '100-continue');
  assert.equal(client.of(1, FRAME.headers).length, 0);
  wire.send('HTTP/1.1 100 Continue\r\n\r\n');
  await client.until('100 Continue', () => client.status(1) === 100);
  client.send(FRAME.data, FLAG.endStream, 1, 'hello');
  assert.equal(await wire.read(5), 'hello');
  wire.send(ok('x'));
  await client.until('the answer', () => client.of(1, FRAME.data).some(({ payload }) => payload.toString() === 'x'));
});

test('a client that gets a refusal instead of 100 keeps its body and its connection', async () => {
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1, head([':method', 'POST'], ['content-length', '100000'], ['expect', '100-continue']), 0);
  const wire = await upstream.accept();
  await wire.readHead();
  wire.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n');
  await client.until('the answer', () => client.status(1) === 413);
  // RFC 9113 8.1: a server that needs no more of a request says so without an error.
  await client.until('the rest to be declined', () => client.resetCode(1) === CODE.none);
  await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
  await client.answered();
});

test('a response without a body is sent before its request is ended early', async () => {
  using secure = await SecureFixture.of([{ ...site('a.test'), redirects: [{ from: '/*', to: 'https://b.test/', status: 308 }] }]);
  const client = await secure.greeted();
  client.request(1, head([':method', 'POST']), 0);
  await client.until('the answer', () => client.status(1) === 308);
  await client.answered();
  assert.equal(client.resetCode(1), undefined);
  secure.proxy.clock.pass(6_000);
  await client.until('the rest to be declined', () => client.resetCode(1) === CODE.none);
  assert.ok(client.of(1, FRAME.headers).some(({ flags }) => (flags & FLAG.endStream) !== 0));
});

describe('the body of a request that has been answered', () => {
  const PIECE = Buffer.alloc(16_000);
  const answered = async (said: string) => {
    const upstream = await UpstreamFixture.start();
    const secure = await SecureFixture.before(upstream);
    const client = await secure.greeted();
    client.request(1, head([':method', 'POST']), 0);
    const wire = await upstream.accept();
    await wire.readHead();
    wire.send(said);
    await client.until('the whole answer', () => ended(client));
    return { client, clock: secure.proxy.clock, secure, [Symbol.dispose]: () => [secure, upstream].map((one) => one[Symbol.dispose]()) };
  };
  /** Sends this many bytes in pieces, so that no window is exceeded. */
  const pour = async (client: Frames, bytes: number): Promise<void> => {
    for (let sent = 0; sent < bytes; sent += PIECE.length * 6) {
      client.write(Buffer.concat(Array.from({ length: 6 }, () => frame(FRAME.data, 0, 1, PIECE))));
      await client.answered();
    }
  };
  const ended = (client: Frames): boolean =>
    [FRAME.data, FRAME.headers].some((type) => client.of(1, type).some(({ flags }) => (flags & FLAG.endStream) !== 0));

  for (const [framing, said] of [
    ['a length', ok('x')],
    ['chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'],
    ['no chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ] as const) {
    test(`is read to its end after a response framed by ${framing}`, async () => {
      using scene = await answered(said);
      const { client } = scene;
      // More than the windows of the stream and the connection hold, so both must be reopened.
      await pour(client, 2_000_000);
      client.send(FRAME.data, FLAG.endStream, 1, PIECE);
      await client.answered();
      assert.equal(client.resetCode(1), undefined);
      assert.equal(client.goneCode, undefined);
      client.request(3, head(), FLAG.endStream);
    });
  }

  test('is read before a small 2xx response of known length is sent, because curl 7.88 would stop sending', async () => {
    using upstream = await UpstreamFixture.start();
    using secure = await SecureFixture.before(upstream);
    for (const [status, how] of [
      ['200 OK', 'end'],
      ['204 No Content', 'end'],
      ['200 OK', 'silence'],
    ] as const) {
      const client = await secure.greeted();
      client.request(1, head([':method', 'PUT'], ['content-length', `${PIECE.length * 12}`]), 0);
      const wire = await upstream.accept();
      await wire.readHead();
      wire.send(`HTTP/1.1 ${status}\r\n${status.startsWith('204') ? '\r\n' : 'Content-Length: 1\r\n\r\nx'}`);
      await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
      await pour(client, PIECE.length * 12 - 1);
      assert.equal(client.status(1), undefined);
      if (how === 'end') client.send(FRAME.data, FLAG.endStream, 1);
      else {
        secure.proxy.clock.pass(1_000);
        await nextTurn();
        secure.proxy.clock.pass(5_000);
      }
      await client.until('the whole answer', () => ended(client));
      assert.equal(client.status(1), Number(status.slice(0, 3)));
      if (how === 'silence') {
        secure.proxy.clock.pass(1_000);
        await client.until('the rest to be declined', () => client.resetCode(1) === CODE.none);
      } else {
        await client.answered();
        assert.equal(client.resetCode(1), undefined);
      }
    }
  });

  test('is read while a small error response is incomplete, because curl 7.88 would end the request short at the head alone', async () => {
    using upstream = await UpstreamFixture.start();
    using secure = await SecureFixture.before(upstream);
    const client = await secure.greeted();
    client.request(1, head([':method', 'POST'], ['content-length', '2000000']), 0);
    const wire = await upstream.accept();
    await wire.readHead();
    wire.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 9\r\n\r\n');
    await pour(client, PIECE.length * 6);
    await wire.read(PIECE.length * 6);
    assert.equal(client.status(1), undefined);
    wire.send('too large');
    await client.until('the whole answer', () => ended(client));
    assert.equal(client.status(1), 413);
    assert.equal(Buffer.concat(client.of(1, FRAME.data).map(({ payload }) => payload)).toString(), 'too large');
    assert.equal(client.resetCode(1), undefined);
  });

  for (const [size, whole] of [
    [9, true],
    [70_000, false],
  ] as const)
    test(`is read while a chunked error response is ${whole ? 'incomplete' : 'small'}`, async () => {
      using upstream = await UpstreamFixture.start();
      using secure = await SecureFixture.before(upstream);
      const client = await secure.greeted();
      client.request(1, head([':method', 'POST'], ['content-length', '2000000']), 0);
      const wire = await upstream.accept();
      await wire.readHead();
      wire.send(`HTTP/1.1 413 Content Too Large\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n`);
      await pour(client, PIECE.length * 6);
      await wire.read(PIECE.length * 6);
      assert.equal(client.status(1), undefined);
      const rest = 'x'.repeat(size - 1);
      wire.send(`${rest.length.toString(16)}\r\n${rest}\r\n`);
      // More than is buffered, and more than the client's window allows.
      if (!whole) {
        await client.until('what has come', () => client.status(1) === 413);
        return;
      }
      wire.send('0\r\n\r\n');
      await client.until('the whole answer', () => ended(client));
      assert.equal(client.status(1), 413);
      assert.equal(
        client.of(1, FRAME.data).reduce((sum, { payload }) => sum + payload.length, 0),
        size,
      );
      assert.equal(client.resetCode(1), undefined);
    });

  test('is given up after a while', async () => {
    using scene = await answered(ok('x'));
    const { client, clock } = scene;
    for (let waited = 0; waited < 30_000; waited += 3_000) {
      assert.equal(client.resetCode(1), undefined);
      client.send(FRAME.data, 0, 1, PIECE);
      await client.answered();
      clock.pass(3_000);
    }
    await client.until('the rest to be declined', () => client.resetCode(1) === CODE.none);
    await client.answered();
  });

  test('is given up when it is too long, and not read further', async () => {
    using scene = await answered(ok('x'));
    const { client, clock } = scene;
    await pour(client, 67_150_000);
    clock.pass(1_000);
    await client.until('the rest to be declined', () => client.resetCode(1) === CODE.none);
    await client.answered();
  });

  test('leaves nothing if it is too long and ends before it is given up', async () => {
    using scene = await answered(ok('x'));
    const { client, clock, secure } = scene;
    await pour(client, 67_150_000);
    client.send(FRAME.data, FLAG.endStream, 1, PIECE);
    await client.answered();
    client.socket.destroy();
    clock.pass(1_000);
    await eventually('the connection to be forgotten', () => secure.proxy.ledger.connections.open() === 0);
  });
});

for (const method of ['HEAD', 'POST'] as const) {
  test(`a refused ${method} is answered and releases its stream`, async () => {
    using secure = await SecureFixture.of([]);
    const client = await secure.greeted();
    // As many as may be open: if one were kept, the last would be refused.
    for (let stream = 1; stream < 2 * 130; stream += 2) {
      client.request(stream, head([':method', method], [':scheme', 'ftp']), method === 'HEAD' ? FLAG.endStream : 0);
      await client.until('the answer', () => client.status(stream) === 400);
    }
    if (method === 'POST') await client.until('the rest to be declined', () => client.resetCode(259) === CODE.none);
    assert.equal(client.goneCode, undefined);
    assert.equal(client.of(1, FRAME.data).length, method === 'HEAD' ? 0 : 1);
  });
}

test('the number of streams is limited, and extended CONNECT is offered (RFC 8441 3)', async () => {
  using secure = await SecureFixture.of([]);
  const client = await secure.greeted();
  await client.answered();
  const settings = client
    .of(0, FRAME.settings)
    .flatMap(({ payload }) => Array.from({ length: payload.length / 6 }, (_, at) => payload.readUInt16BE(at * 6)));
  assert.deepEqual([settings.includes(3), settings.includes(8)], [true, true]);
});
