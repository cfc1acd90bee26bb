import assert from 'node:assert/strict';
import { createServer, type Server, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';

/** A TCP server that handles its n-th connection with the given function. */
class Scripted {
  readonly server: Server;
  readonly address: string;
  connections = 0;
  heads = 0;

  private constructor(server: Server, port: number) {
    this.server = server;
    this.address = `127.0.0.1:${port}`;
  }

  static async start(onHead: (socket: Socket, head: number, connection: number) => void): Promise<Scripted> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const scripted = new Scripted(server, (server.address() as { port: number }).port);
    server.on('connection', (socket) => {
      const connection = ++scripted.connections;
      socket.on('error', () => undefined);
      socket.on('data', (piece) => {
        if (piece.includes('\r\n\r\n')) onHead(socket, ++scripted.heads, connection);
      });
    });
    return scripted;
  }

  [Symbol.dispose](): void {
    this.server.close();
  }
}

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine';

describe('upstream failures', () => {
  let folder: Folder;
  let dataplane: Dataplane;

  before(async () => {
    folder = new Folder();
    dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1 });
  });
  after(async () => {
    await dataplane[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('a service that answers with 5xx is an alert of its site, unless the site is in maintenance', async () => {
    await using app = await Upstream.start('app', (_, response) => response.writeHead(500).end('broken'));
    await dataplane.route('errors.test', app.address);
    for (let at = 0; at < 5; at++) assert.equal((await dataplane.visit('errors.test')).status, 500);
    const alerts = async (): Promise<string> => (await dataplane.admin('GET', '/alerts')).text;
    await until('the alert', async () => /"error","code":"server_errors","domain":"errors\.test"/.test(await alerts()));
    await dataplane.route('errors.test', app.address, { maintenance: { on: true } });
    assert.ok(!(await alerts()).includes('server_errors'));
  });

  test('a closed port is answered with 502 as HTML or JSON, without details of the upstream', async () => {
    const port = await freePort();
    await dataplane.route('refused.test', `127.0.0.1:${port}`);
    const html = await dataplane.visit('refused.test', '/', { headers: { accept: 'text/html' } });
    assert.equal(html.status, 502);
    assert.match(html.headers['content-type'] ?? '', /text\/html/);
    const json = await dataplane.visit('refused.test', '/', { headers: { accept: 'application/json' } });
    assert.deepEqual(JSON.parse(json.text), { error: 'Bad Gateway', status: 502 });
    for (const { text, headers } of [html, json])
      assert.doesNotMatch(text + JSON.stringify(headers), new RegExp(`${port}|127\\.0\\.0\\.1`));
    await dataplane.program.said(/"failure":"refused"/);
  });

  for (const [what, bytes] of [
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length and a coding', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['a folded line', 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\nContent-Length: 0\r\n\r\n'],
    ['a protocol switch without a request for one', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
    ['a line that ends with CR alone', 'HTTP/1.1 200 OK\rContent-Length: 0\r\n\r\n'],
    ['a head without end', `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(263_000)}`],
    ['an invalid status', 'HTTP/1.1 099 Odd\r\n\r\n'],
  ] as const) {
    test(`a response with ${what} is answered with 502`, async () => {
      using upstream = await Scripted.start((socket) => socket.write(bytes));
      await dataplane.route('odd.test', upstream.address);
      assert.equal((await dataplane.visit('odd.test', '/', { method: 'POST' })).status, 502);
    });
  }

  test('any request is sent to the next target if the connection is refused', async () => {
    await using good = await Upstream.start('good', (_, response) => response.end('good'));
    const dead = `127.0.0.1:${await freePort()}`;
    await dataplane.route('pool.test', dead, { upstreams: [{ address: dead }, { address: good.address }] });
    for (let visit = 0; visit < 8; visit++) {
      const answer = await dataplane.visit('pool.test', '/', { method: 'POST', body: 'kept' });
      assert.equal(answer.text, 'good');
    }
  });

  test('a target that fails three consecutive times leaves rotation, and explain says why', async () => {
    await using good = await Upstream.start('good', (_, response) => response.end('good'));
    const dead = `127.0.0.1:${await freePort()}`;
    await dataplane.route('ejected.test', dead, { upstreams: [{ address: dead }, { address: good.address }] });
    for (let visit = 0; visit < 8; visit++) await dataplane.visit('ejected.test');
    const { targets } = JSON.parse((await dataplane.admin('GET', '/explain?url=ejected.test')).text) as {
      targets: { address: string; healthy: boolean; reason: string | null; last_failure?: { code: string; count: number; at: string } }[];
    };
    assert.deepEqual(
      targets.map(({ address, healthy }) => [address, healthy]),
      [
        [dead, false],
        [good.address, true],
      ],
    );
    assert.match(targets[0]?.reason ?? '', /^the target refused the connection \(\d+ in a row\)$/);
    // A scrape collects the counts of the workers since their last report.
    await dataplane.admin('GET', '/metrics');
    const listed = JSON.parse((await dataplane.admin('GET', '/upstreams')).text) as typeof targets;
    const { last_failure } = listed.find(({ address }) => address === dead) ?? {};
    assert.equal(last_failure?.code, 'refused');
    assert.ok((last_failure?.count ?? 0) >= 3 && Date.parse(last_failure?.at ?? '') > Date.now() - 60_000);
    assert.equal(listed.find(({ address }) => address === good.address)?.last_failure, undefined);
  });

  test('the last target is used even though it fails, and is healthy again with its first response', async () => {
    const port = await freePort();
    await dataplane.route('last.test', `127.0.0.1:${port}`);
    for (let visit = 0; visit < 5; visit++) assert.equal((await dataplane.visit('last.test')).status, 502);
    const { text } = await dataplane.admin('GET', '/metrics');
    assert.match(text, /^sluice_upstream_failures_total\{domain="last\.test",reason="refused"\} 5$/m);
    const server = createServer((socket) => socket.on('data', () => socket.end(OK.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'))));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    assert.equal((await dataplane.visit('last.test')).text, 'fine');
    server.close();
  });

  test('a GET on an idle connection that was closed is resent on a new one', async () => {
    // Each connection serves one request and is closed at the second, before any response.
    const heads = new Map<number, number>();
    using upstream = await Scripted.start((socket, _, connection) => {
      const count = (heads.get(connection) ?? 0) + 1;
      heads.set(connection, count);
      if (count === 1) socket.write(OK);
      else socket.destroy();
    });
    await dataplane.route('stale.test', upstream.address);
    assert.equal((await dataplane.visit('stale.test')).text, 'fine');
    assert.equal((await dataplane.visit('stale.test')).text, 'fine');
    assert.equal(upstream.connections, 2);
    assert.equal(upstream.heads, 3);
  });

  test('a POST that has been written is not resent', async () => {
    const heads = new Map<number, number>();
    using upstream = await Scripted.start((socket, _, connection) => {
      const count = (heads.get(connection) ?? 0) + 1;
      heads.set(connection, count);
      if (count === 1) socket.write(OK);
      else socket.destroy();
    });
    await dataplane.route('post.test', upstream.address);
    assert.equal((await dataplane.visit('post.test')).text, 'fine');
    assert.equal((await dataplane.visit('post.test', '/', { method: 'POST', body: 'once' })).status, 502);
    assert.equal(upstream.heads, 2);
  });

  test('a GET that a target drops before responding is retried on the next target', async () => {
    using dropping = await Scripted.start((socket) => socket.destroy());
    await using good = await Upstream.start('good', (_, response) => response.end('good'));
    await dataplane.route('drop.test', dropping.address, { upstreams: [{ address: dropping.address }, { address: good.address }] });
    for (let visit = 0; visit < 6; visit++) assert.equal((await dataplane.visit('drop.test')).text, 'good');
    assert.ok(dropping.heads >= 1 && dropping.heads <= 3, 'requests sent until it left rotation');
  });

  test('a pool without a target in rotation is answered with 503 and Retry-After', async () => {
    await dataplane.route('none.test', '127.0.0.1:1', { upstreams: [{ address: '127.0.0.1:1', state: 'unhealthy' }] });
    const answer = await dataplane.visit('none.test');
    assert.equal(answer.status, 503);
    assert.equal(answer.headers['retry-after'], '1');
  });

  test('targets are used in turn, in proportion to their weights', async () => {
    await using one = await Upstream.start('one', (_, response) => response.end('one'));
    await using two = await Upstream.start('two', (_, response) => response.end('two'));
    await dataplane.route('turns.test', one.address, {
      upstreams: [
        { address: one.address, weight: 2 },
        { address: two.address, weight: 1 },
      ],
    });
    const seen: string[] = [];
    for (let visit = 0; visit < 9; visit++) seen.push((await dataplane.visit('turns.test')).text);
    assert.equal(seen.filter((text) => text === 'one').length, 6);
    assert.equal(seen.filter((text) => text === 'two').length, 3);
  });

  test('a small body is buffered before an upstream is contacted', async () => {
    using upstream = await Scripted.start((socket) => socket.write(OK));
    await dataplane.route('held.test', upstream.address);
    const { RawClient } = await import('../testing/raw.ts');
    using client = await RawClient.open(dataplane.httpPort);
    client.write('POST / HTTP/1.1\r\nHost: held.test\r\nContent-Length: 10\r\n\r\n12345');
    // Another complete request shows that the half-sent body could have been forwarded by now.
    for (let visit = 0; visit < 3; visit++) assert.equal((await dataplane.visit('unrouted.test')).status, 404);
    assert.equal(upstream.connections, 0);
    await client.write('67890').sees(/fine$/);
  });
});
