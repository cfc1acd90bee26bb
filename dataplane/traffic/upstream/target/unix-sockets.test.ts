import assert from 'node:assert/strict';
import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { connectFailure, FAILURE } from '../../exchange/failure.ts';
import { eventually, get, ProxyFixture, site, whenRead } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'sockets-'));
after(() => rmSync(folder, { recursive: true }));
let sockets = 0;
/** A path where nothing exists yet. */
const freePath = (): string => join(folder, `${++sockets}.sock`);

/** The reasons of the failed requests so far. */
const failures = (proxy: ProxyFixture): unknown[] =>
  proxy.log.lines.flatMap(({ fields, message }) => ('failure' in fields && 'host' in fields ? [[fields.failure, message]] : []));

describe('a target at a Unix socket', () => {
  test('answers like any other, over reused connections', async () => {
    using upstream = await UpstreamFixture.serving(({ line, body }) => ok(`${line} ${body}`), freePath());
    using proxy = await ProxyFixture.before(upstream);
    assert.match(upstream.address, /^unix\/\//);
    assert.equal((await proxy.request(get('/one'))).body, 'GET /one HTTP/1.1 ');
    assert.equal((await proxy.request('POST /two HTTP/1.1\r\nHost: a.test\r\nContent-Length: 2\r\n\r\nhi')).body, 'POST /two HTTP/1.1 hi');
    assert.equal(upstream.connections.length, 1);
    assert.deepEqual(
      proxy.dryRun('http://a.test/').targets.map(({ address }) => address),
      [upstream.address],
    );
  });

  test('accepts a WebSocket', async () => {
    using upstream = await UpstreamFixture.start(freePath());
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    client.send(get('/', 'Connection: Upgrade\r\nUpgrade: websocket\r\n'));
    const { wire, request } = await upstream.nextRequest();
    assert.match(request.head, /Host: a\.test\r\n/);
    wire.send('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nhello');
    await client.readThrough('hello');
    client.send('world');
    await wire.readThrough('world');
  });

  test('may speak HTTP/2', async () => {
    const path = freePath();
    const server = createHttp2Server((request, response) => void response.end(`${request.headers[':authority']} ${request.url}`));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    using proxy = await ProxyFixture.start([{ ...site('a.test', { address: `unix/${path}` }), transport: { protocol: 'h2c' } }]);
    assert.equal((await proxy.request(get('/x'))).body, 'a.test /x');
    server.close();
  });

  test('that does not exist or refuses connections causes a 502 with its reason', async () => {
    const missing = freePath();
    using none = await ProxyFixture.before({ address: `unix/${missing}` });
    assert.match((await none.request(get())).line, / 502 /);
    assert.deepEqual(failures(none), [['no_socket', 'the socket of the target does not exist']]);

    const left = freePath();
    const server = createServer().listen(left);
    await new Promise((resolve) => server.once('listening', resolve));
    // Under another name it stays, like the socket of a process that was killed.
    const dead = freePath();
    renameSync(left, dead);
    await new Promise((resolve) => server.close(resolve));
    using refusing = await ProxyFixture.before({ address: `unix/${dead}` });
    assert.match((await refusing.request(get())).line, / 502 /);
    assert.deepEqual(failures(refusing), [['refused', 'the target refused the connection']]);
  });

  test('is skipped while it is missing, and waited for if the site has hold', async () => {
    const path = freePath();
    using other = await UpstreamFixture.serving(ok('other'), freePath());
    using proxy = await ProxyFixture.start([
      site('a.test', { address: `unix/${path}` }, other),
      { ...site('b.test', { address: `unix/${path}` }), hold_secs: 10 },
    ]);
    assert.equal((await proxy.request(get())).body, 'other');
    const client = await proxy.connect();
    client.send(get().replace('a.test', 'b.test'));
    await eventually('the request', () => proxy.ledger.inFlight.total() === 1);
    using upstream = await UpstreamFixture.serving(ok('back'), path);
    assert.equal(upstream.address, `unix/${path}`);
    for (let step = 0; step < 8 && client.unread === ''; step++) {
      proxy.clock.pass(250);
      await whenRead();
    }
    assert.equal((await client.readAnswer()).body, 'back');
  });
});

test('each error of opening a Unix socket has its own reason, and a firewall’s EPERM has another', () => {
  const failing = (code: string, more: object = {}) => connectFailure(Object.assign(new Error(code), { code, ...more }));
  assert.equal(failing('ENOENT'), FAILURE.noSocket);
  assert.equal(failing('EACCES'), FAILURE.socketDenied);
  assert.match(FAILURE.socketDenied.reason, /the user \w+ is not allowed to open the socket/);
  assert.equal(failing('EPERM', { port: 80 }), FAILURE.unreachable);
  assert.deepEqual([failing('EAGAIN'), FAILURE.socketFull.blamesTarget], [FAILURE.socketFull, false]);
});
