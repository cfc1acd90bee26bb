import assert from 'node:assert/strict';
import { request as sendRequest } from 'node:http';
import { test } from 'node:test';
import { Http2Client } from '../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { stillness } from '../testing/stillness.ts';
import { CountingResponder, everywhere, lineOf, Shouting } from '../testing/way-back.ts';

/** More than the buffers between two ends of a connection hold. */
const MANY = 200_000;
const NOWHERE = { address: '127.0.0.1:1' };
const all = (lines: number): string => Array.from({ length: lines }, (_, at) => lineOf(at)).join('');

const counting = (responder: CountingResponder, filters: readonly Shouting[] = []): Promise<ProxyFixture> =>
  ProxyFixture.with([site('a.test', NOWHERE)], {}, { blockKinds: everywhere(filters, responder) });

test('a responder of our own streams its response over HTTP/1.1 and HTTP/2, and through filters', async () => {
  for (const filters of [[], [new Shouting()]]) {
    using proxy = await counting(new CountingResponder(2_000), filters);
    const expected = filters.length === 0 ? all(2_000) : `${all(2_000).toUpperCase()}!`;
    assert.equal((await proxy.request(get())).body, expected);
    using client = new Http2Client(proxy);
    assert.equal((await client.request({ ':path': '/' })).body, expected);
    assert.equal((await proxy.request('HEAD / HTTP/1.1\r\nHost: a.test\r\n\r\n')).body, '');
  }
});

test('it writes at the pace of its client, and is cancelled when the client disconnects', async () => {
  const length = Array.from({ length: MANY }, (_, at) => lineOf(at).length).reduce((sum, one) => sum + one, 0);
  for (const filters of [[], [new Shouting()]]) {
    const responder = new CountingResponder(MANY);
    using proxy = await counting(responder, filters);
    const client = await proxy.connect();
    client.socket.pause();
    client.send(get());
    await stillness('it to pause', () => responder.written);
    assert.ok(responder.written < MANY);
    client.socket.destroy();
    await eventually('it to be cancelled', () => responder.cancelled === 1);
    const reader = new Promise<number>((resolve) => {
      let bytes = 0;
      sendRequest({ port: proxy.port, headers: { host: 'a.test' }, agent: false }, (answer) => {
        answer.on('data', (piece: Buffer) => {
          bytes += piece.length;
        });
        answer.on('end', () => resolve(bytes));
      }).end();
    });
    assert.equal(await reader, length + filters.length);
  }
});

test('explain reports what a responder would do without running it', async () => {
  const responder = new CountingResponder(5);
  using proxy = await counting(responder);
  const { verdict, policies } = proxy.dryRun('http://a.test/');
  assert.equal(verdict, 'answered by counting: 200 with 5 lines');
  assert.deepEqual(policies, [{ name: 'counting', verdict: '200 with 5 lines' }]);
  assert.equal(responder.written, 0);
});
