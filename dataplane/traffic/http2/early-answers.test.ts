import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CODE, FLAG, FRAME, head } from '../testing/frames-fixture.ts';
import { eventually, site } from '../testing/proxy-fixture.ts';
import { SecureFixture } from '../testing/secure-fixture.ts';
import { ok, UpstreamFixture } from '../testing/upstream-fixture.ts';
import { field } from '../testing/wire-fixture.ts';

test('a client that waits for 100 Continue sends its body when the target has said so (RFC 9110 10.1.1)', async () => {
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1, head([':method', 'POST'], ['content-length', '5'], ['expect', '100-continue']), 0);
  const wire = await upstream.accept();
  const asked = await wire.readHead();
  assert.equal(field(asked, 'expect'), '100-continue');
  assert.equal(client.of(1, FRAME.headers).length, 0);
  wire.send('HTTP/1.1 100 Continue\r\n\r\n');
  await client.until('the go-ahead', () => client.status(1) === 100);
  client.send(FRAME.data, FLAG.endStream, 1, 'hello');
  assert.equal(await wire.read(5), 'hello');
  wire.send(ok('x'));
  await client.until('the answer', () => client.of(1, FRAME.data).some(({ payload }) => payload.toString() === 'x'));
});

test('a client that is told no instead keeps its body, and its connection', async () => {
  using upstream = await UpstreamFixture.start();
  using secure = await SecureFixture.before(upstream);
  const client = await secure.greeted();
  client.request(1, head([':method', 'POST'], ['content-length', '100000'], ['expect', '100-continue']), 0);
  const wire = await upstream.accept();
  await wire.readHead();
  wire.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n');
  await client.until('the answer', () => client.status(1) === 413);
  // RFC 9113 8.1: a server that needs no more of a request says so without an error.
  await client.until('the rest to be waived', () => client.resetCode(1) === CODE.none);
  await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
  await client.answered();
});

test('an answer without a body that comes at once is not overtaken by the end of its request', async () => {
  using secure = await SecureFixture.of([{ ...site('a.test'), redirects: [{ from: '/*', to: 'https://b.test/', status: 308 }] }]);
  const client = await secure.greeted();
  client.request(1, head([':method', 'POST']), 0);
  await client.until('the rest to be waived', () => client.resetCode(1) === CODE.none);
  assert.equal(client.status(1), 308);
});

for (const method of ['HEAD', 'POST'] as const) {
  test(`a malformed ${method} is answered and forgotten`, async () => {
    using secure = await SecureFixture.of([]);
    const client = await secure.greeted();
    // As many as may be open: were one kept, the last would be refused.
    for (let stream = 1; stream < 2 * 130; stream += 2) {
      client.request(stream, head([':method', method], ['host', 'b.test']), method === 'HEAD' ? FLAG.endStream : 0);
      await client.until('the answer', () => client.status(stream) === 400);
    }
    if (method === 'POST') await client.until('the rest to be waived', () => client.resetCode(259) === CODE.none);
    assert.equal(client.goneCode, undefined);
    assert.equal(client.of(1, FRAME.data).length, method === 'HEAD' ? 0 : 1);
  });
}

test('the number of streams is limited, and extended CONNECT offered (RFC 8441 3)', async () => {
  using secure = await SecureFixture.of([]);
  const client = await secure.greeted();
  await client.answered();
  const settings = client
    .of(0, FRAME.settings)
    .flatMap(({ payload }) => Array.from({ length: payload.length / 6 }, (_, at) => payload.readUInt16BE(at * 6)));
  assert.deepEqual([settings.includes(3), settings.includes(8)], [true, true]);
});
