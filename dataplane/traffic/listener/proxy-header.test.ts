import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Cidr } from '../../../shared/values/cidr.ts';
import { connectionKey } from '../../ledger/connections.ts';
import { eventually, get, ProxyFixture, site, whenRead } from '../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../testing/test-upstream.ts';
import { field, refusedConnection, type Wire } from '../testing/wire.ts';

const HEADER = 'PROXY TCP4 203.0.113.9 192.0.2.1 56324 80\r\n';
const SIGNATURE = '\r\n\r\n\0\r\nQUIT\n';
const LOOPBACK = ['127.0.0.0/8' as Cidr];

const start = (upstream: UpstreamFixture, more: object = {}) =>
  ProxyFixture.with([site('a.test', upstream)], { proxyProtocol: true, trustedProxies: LOOPBACK, ...more });
const counts = (proxy: ProxyFixture) => Object.fromEntries(proxy.ledger.connections.reading().refused);
const isCut = (wire: Wire) => wire.until('the connection to be closed', () => wire.ended || wire.closed);

describe('with the PROXY protocol', () => {
  test('the client is the one the header names, for the upstream and for every request of the connection', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream);
    const client = await proxy.connect();
    client.send(HEADER + get());
    await client.readAnswer();
    client.send(get('/', 'X-Forwarded-For: 198.51.100.7\r\n'));
    await client.readAnswer();
    const seen = upstream.requests.map(({ head }) => [field(head, 'X-Forwarded-For'), field(head, 'X-Real-IP')]);
    assert.deepEqual(seen, [
      ['203.0.113.9', '203.0.113.9'],
      ['203.0.113.9', '203.0.113.9'],
    ]);
  });

  test('the port is that of the client, too, unless it is 0 or the header names none', async () => {
    const teller = { ...site('a.test'), respond: { status: 200, body: '[{http.request.remote.port}]' } };
    using proxy = await ProxyFixture.with([teller], { proxyProtocol: true, trustedProxies: LOOPBACK });
    const told = async (header: string) => {
      const client = await proxy.connect();
      client.send(header + get());
      return { body: (await client.readAnswer()).body, own: `[${client.socket.localPort}]` };
    };
    assert.equal((await told(HEADER)).body, '[56324]');
    assert.equal((await told('PROXY TCP4 203.0.113.9 192.0.2.1 0 80\r\n')).body, '[]');
    const unknown = await told('PROXY UNKNOWN\r\n');
    assert.equal(unknown.body, unknown.own);
  });

  test('a client that is itself a trusted proxy may name its own clients', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream, { trustedProxies: [...LOOPBACK, '203.0.113.9'] });
    const client = await proxy.connect();
    client.send(HEADER + get('/', 'X-Forwarded-For: 198.51.100.7\r\n'));
    await client.readAnswer();
    assert.equal(field(upstream.requests[0]?.head ?? '', 'X-Real-IP'), '198.51.100.7');
  });

  for (const [what, header] of [
    ['version 1', HEADER],
    ['version 2', `${SIGNATURE}\x21\x11\x00\x0c\xcb\x00\x71\x09\x7f\x00\x00\x01\x99\xf4\x00\x50`],
  ] as const) {
    test(`header and request may arrive in any pieces (${what})`, async () => {
      using upstream = await UpstreamFixture.serving((request) => ok(field(request.head, 'X-Real-IP') ?? ''));
      using proxy = await start(upstream);
      const text = header + get();
      const clients = await Promise.all(
        Array.from({ length: text.length - 1 }, async (_, at) => {
          const client = await proxy.connect();
          client.send(text.slice(0, at + 1));
          return client;
        }),
      );
      await eventually('the first pieces to be read', () => proxy.ledger.connections.open() === clients.length);
      await whenRead();
      for (const [at, client] of clients.entries()) client.send(text.slice(at + 1));
      for (const client of clients) assert.equal((await client.readAnswer()).body, '203.0.113.9');
    });
  }

  for (const [what, header] of [
    ['UNKNOWN', 'PROXY UNKNOWN\r\n'],
    ['LOCAL', `${SIGNATURE}\x20\x00\x00\x00`],
  ] as const) {
    test(`${what} keeps the connection's own address`, async () => {
      using upstream = await UpstreamFixture.serving(ok('x'));
      using proxy = await start(upstream);
      const client = await proxy.connect();
      client.send(header + get());
      await client.readAnswer();
      assert.equal(field(upstream.requests[0]?.head ?? '', 'X-Real-IP'), '127.0.0.1');
    });
  }

  test('a connection without a header is closed unserved and counted, and logged once a minute', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream);
    for (let visit = 0; visit < 3; visit++) {
      assert.equal(await refusedConnection(proxy.port, get()), '');
    }
    assert.equal(upstream.connections.length, 0);
    assert.equal(counts(proxy).proxy_header, 3);
    assert.equal(proxy.log.lines.filter(({ message }) => message?.includes('valid PROXY header')).length, 1);
  });

  test('a header that is incomplete after 5 s is refused, however slowly it arrives', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream);
    const silent = await proxy.connect();
    const slow = await proxy.connect();
    for (let second = 0; second < 4; second++) {
      slow.send(HEADER.slice(second, second + 1));
      await eventually('both connections', () => proxy.ledger.connections.open() === 2);
      proxy.clock.pass(1_000);
    }
    proxy.clock.pass(900);
    assert.deepEqual([silent.closed, slow.closed, proxy.ledger.connections.open()], [false, false, 2]);
    proxy.clock.pass(600);
    await isCut(silent);
    await isCut(slow);
    assert.deepEqual([counts(proxy).proxy_header, proxy.ledger.connections.open()], [2, 0]);
  });

  test('a connection from an untrusted address is closed, also with a valid header', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream, { trustedProxies: ['192.0.2.1'] });
    assert.equal(await refusedConnection(proxy.port, HEADER + get()), '');
    assert.deepEqual([upstream.connections.length, counts(proxy).untrusted_proxy], [0, 1]);
    assert.equal(proxy.ledger.connections.open(), 0);
  });

  test('connections that end or are reset before their header is complete are dropped without a failure', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream);
    const [ending, resetting, silent] = [await proxy.connect(), await proxy.connect(), await proxy.connect()];
    await eventually('three connections', () => proxy.ledger.connections.open() === 3);
    ending.end('PROXY TC');
    resetting.send('PROXY TC');
    resetting.reset();
    silent.reset();
    await eventually('no connections', () => proxy.ledger.connections.open() === 0);
    assert.equal(counts(proxy).proxy_header, 0);
  });

  test('the limit per address applies to the client in the header', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream, { maxConnectionsPerAddress: 2 });
    const clients = [];
    for (let visit = 0; visit < 3; visit++) {
      const client = await proxy.connect();
      client.send(HEADER + get());
      clients.push(client);
      if (visit < 2) await client.readAnswer();
    }
    await isCut(clients[2] as Wire);
    const other = await proxy.connect();
    other.send(HEADER.replace('203.0.113.9', '203.0.113.8') + get());
    await other.readAnswer();
    assert.deepEqual([counts(proxy).address_limit, proxy.ledger.connections.open()], [1, 3]);
  });

  test('draining closes connections that have sent nothing, and serves those with a partial header', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream);
    const [silent, begun] = [await proxy.connect(), await proxy.connect()];
    begun.send(HEADER.slice(0, 9));
    await eventually('both connections', () => proxy.ledger.connections.open() === 2);
    await whenRead();
    proxy.drain();
    await isCut(silent);
    begun.send(HEADER.slice(9) + get());
    const answer = await begun.readAnswer();
    assert.equal(field(answer.head, 'Connection'), 'close');
    begun.end();
    await eventually('the worker to finish', () => proxy.messages.some(({ kind }) => kind === 'drained'));
  });

  test('the worker has drained when the last connection is refused for the address that its header names', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using proxy = await start(upstream, { maxConnectionsPerAddress: 1 });
    const { connections } = proxy.ledger;
    const client = await proxy.connect();
    client.send(HEADER.slice(0, 9));
    await eventually('the connection to be accepted', () => connections.open() === 1);
    // Of another worker.
    connections.enterAddress(connectionKey('203.0.113.9'), 0, 1, proxy.clock.now());
    proxy.drain('on-response');
    client.send(HEADER.slice(9));
    await isCut(client);
    await eventually('the worker to be drained', () => proxy.messages.some(({ kind }) => kind === 'drained'));
  });
});
