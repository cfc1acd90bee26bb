import assert from 'node:assert/strict';
import { test } from 'node:test';
import { get, ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const FORGED = 'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged';

for (const [what, method, head, line] of [
  ['HEAD', 'HEAD', `HTTP/1.1 200 OK\r\nContent-Length: ${FORGED.length}\r\n\r\n`, 'HTTP/1.1 200 OK'],
  ['HEAD, chunked', 'HEAD', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'HTTP/1.1 200 OK'],
  ['HEAD, of unknown length', 'HEAD', 'HTTP/1.1 200 OK\r\n\r\n', 'HTTP/1.1 200 OK'],
  ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n', 'HTTP/1.1 204 No Content'],
  ['304', 'GET', `HTTP/1.1 304 Not Modified\r\nContent-Length: ${FORGED.length}\r\n\r\n`, 'HTTP/1.1 304 Not Modified'],
] as const)
  test(`a body that an upstream wrongly sends with its response (${what}) is dropped, and the client's connection stays open`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get().replace('GET', method));
    const { wire } = await upstream.nextRequest();
    wire.send(head + FORGED);
    assert.equal((await client.readAnswer(method)).line, line);
    await wire.until('the end', () => wire.ended || wire.closed);
    client.send(get());
    (await upstream.nextRequest()).wire.send(ok('honest'));
    assert.equal((await client.readAnswer()).body, 'honest');
  });

for (const [what, method, head] of [
  ['HEAD', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 44\r\n\r\n'],
  ['HEAD of unknown length', 'HEAD', 'HTTP/1.1 200 OK\r\n\r\n'],
  ['a 304 with a length', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 44\r\n\r\n'],
] as const)
  test(`an upstream connection is closed after a response to ${what}, because a body could still follow`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get().replace('GET', method));
    const { wire } = await upstream.nextRequest();
    wire.send(head);
    await client.readAnswer(method);
    client.send(get());
    const next = await upstream.nextRequest();
    assert.notEqual(next.wire, wire);
    next.wire.send(ok('honest'));
    assert.equal((await client.readAnswer()).body, 'honest');
  });

for (const [what, method, head] of [
  ['204', 'GET', 'HTTP/1.1 204 No Content\r\n\r\n'],
  ['304', 'GET', 'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'],
  ['HEAD of nothing', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'],
] as const)
  test(`an upstream connection is reused after a response that announces no body (${what})`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get().replace('GET', method));
    const { wire } = await upstream.nextRequest();
    wire.send(head);
    await client.readAnswer(method);
    client.send(get());
    await wire.readRequest();
    wire.send(ok('next'));
    assert.equal((await client.readAnswer()).body, 'next');
    assert.equal(upstream.connections.length, 1);
  });

test('the Content-Length of a response to HEAD is forwarded', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n');
  using proxy = await ProxyFixture.before(upstream);
  assert.equal(field((await proxy.request(get().replace('GET', 'HEAD'))).head, 'Content-Length'), '1234');
});
