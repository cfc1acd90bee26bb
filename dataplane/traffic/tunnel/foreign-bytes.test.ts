import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProxyFixture } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const asking = (upgrade: string, connection = 'Connection: Upgrade\r\n') =>
  `GET / HTTP/1.1\r\nHost: a.test\r\n${connection}Upgrade: ${upgrade}\r\n\r\n`;
const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
/** Sequences that String.replace expands in a replacement. */
const EXPANDED = ['$&', '$`', "$'", '$$', '$1', '$<a>'];

test("the client's Upgrade value is forwarded literally, even if it contains replacement patterns", async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const token of ['$&', '$`', "$'", '$$', '$1', 'a$&/b$`']) {
    const client = await proxy.connect();
    client.send(asking(`websocket, ${token}`));
    const { wire, request } = await upstream.nextRequest();
    assert.equal(field(request.head, 'upgrade'), `websocket, ${token}`);
    assert.deepEqual([field(request.head, 'host'), field(request.head, 'connection')], ['a.test', 'Upgrade']);
    wire.send(SWITCHING);
    assert.match(await client.readHead(), /^HTTP\/1\.1 101 /);
  }
});

test('an Upgrade that is not a list of protocols is answered with 400, even if the upgrade would be ignored', async () => {
  using upstream = await UpstreamFixture.serving(ok('never'));
  using proxy = await ProxyFixture.before(upstream);
  const injected = ['X-Forwarded-For: 10.9.9.9', 'Host: b', 'Authorization: Basic eDp4', 'Content-Length: 9', 'Transfer-Encoding: chunked'];
  const values = EXPANDED.flatMap((mark) => injected.map((line) => `websocket, x${mark}${line}${mark}X-Real-IP: 10.9.9.9`));
  for (const value of [...values, 'h2c, a b', 'TLS/1.0;x', 'a/b/c', 'websocket\xa0']) {
    for (const connection of ['Connection: Upgrade\r\n', '']) {
      const answer = await proxy.request(asking(value, connection));
      assert.equal(answer.line, 'HTTP/1.1 400 Bad Request', value);
    }
  }
  assert.equal(upstream.connections.length, 0);
});

test('hop-by-hop protocols are ignored and not forwarded', async () => {
  using upstream = await UpstreamFixture.serving(ok('plain'));
  using proxy = await ProxyFixture.before(upstream);
  for (const protocol of ['h2c', 'TLS/1.0', 'TLS', 'h2c, TLS/1.2']) assert.equal((await proxy.request(asking(protocol))).body, 'plain');
  assert.ok(upstream.requests.every(({ head }) => field(head, 'upgrade') === null));
});

test('a target that names no protocol, or something else, has not accepted the upgrade', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  for (const chosen of ['', ',', 'websocket\xa0', 'websocket x', 'websocket;a', 'websocket, chat']) {
    const client = await proxy.connect();
    client.send(asking('websocket'));
    const { wire } = await upstream.nextRequest();
    wire.send(SWITCHING.replace('websocket', () => chosen));
    assert.match((await client.readAnswer()).line, /^HTTP\/1\.1 502 /, chosen);
  }
});
