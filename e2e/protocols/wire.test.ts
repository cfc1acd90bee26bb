import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { exchange, RawClient } from '../testing/raw.ts';
import { Upstream } from '../testing/upstream.ts';

const HOST = 'Host: a.test\r\n';
const MEGABYTE = 1_048_576;

/** The behaviour of the upstream, by path. */
const PAGES: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
  '/echo': (request, response) => request.pipe(response),
  '/length': (request, response) => {
    let length = 0;
    request.on('data', (piece: Buffer) => {
      length += piece.length;
    });
    request.on('end', () => {
      for (const [name, value] of Object.entries(request.trailers)) response.setHeader(`saw-${name}`, value ?? '');
      response.end(String(length));
    });
  },
  '/headers': (request, response) => response.end(JSON.stringify(request.rawHeaders)),
  '/events': (_, response) => {
    response.setHeader('content-type', 'text/event-stream');
    response.write('data: first\n\n');
  },
  '/hints': (_, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    response.end('after hints');
  },
  '/204': (_, response) => response.writeHead(204).end(),
  '/304': (_, response) => response.writeHead(304, { etag: '"x"' }).end(),
  '/early': (_, response) => response.writeHead(413).end('enough'),
  '/trailers': (_, response) => {
    response.writeHead(200, { trailer: 'x-sum' });
    response.write('body');
    response.addTrailers({ 'x-sum': '42' });
    response.end();
  },
  '/big': (_, response) => {
    let left = 50;
    const more = () => {
      while (left-- > 0) if (!response.write(Buffer.alloc(MEGABYTE, 'b'))) return void response.once('drain', more);
      response.end();
    };
    more();
  },
  '/cut': (request, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('part', () => request.socket.destroy());
  },
};

describe('HTTP/1.1 on the wire', () => {
  let folder: Folder;
  let upstream: Upstream;
  let dataplane: Dataplane;
  let port: number;

  before(async () => {
    folder = new Folder();
    upstream = await Upstream.start('pages', (request, response) =>
      (PAGES[request.url ?? ''] ?? ((_, other) => other.end(`${request.method} ${request.url}`)))(request, response),
    );
    dataplane = await Dataplane.start({ stateDir: folder.path, workers: 1 });
    await dataplane.route('a.test', upstream.address);
    port = dataplane.httpPort;
  });
  after(async () => {
    await dataplane[Symbol.asyncDispose]();
    await upstream[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('pipelined requests are answered in order, and Connection: close ends the connection', async () => {
    const all = await exchange(
      port,
      `GET /1 HTTP/1.1\r\n${HOST}\r\nGET /2 HTTP/1.1\r\n${HOST}\r\nGET / HTTP/1.1\r\nHost: unknown\r\n\r\nGET /3 HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
    );
    assert.match(all, /GET \/1.*GET \/2.*404 Not Found.*Connection: close\r\n\r\nGET \/3$/s);
  });

  test('an HTTP/1.0 connection is closed after the response unless keep-alive is requested', async () => {
    const once = await exchange(port, `GET /x HTTP/1.0\r\n${HOST}\r\n`);
    assert.match(once, /^HTTP\/1\.1 200 OK\r\n.*Connection: close\r\n\r\nGET \/x$/s);
    using client = await RawClient.open(port);
    await client.write(`GET /x HTTP/1.0\r\n${HOST}Connection: keep-alive\r\n\r\n`).sees(/Connection: keep-alive\r\n\r\nGET \/x$/);
    await client.write(`GET /y HTTP/1.0\r\n${HOST}\r\n`).sees(/GET \/y$/);
    const chunked = await exchange(port, `GET /trailers HTTP/1.0\r\n${HOST}\r\n`);
    assert.match(chunked, /\r\n\r\nbody$/);
    assert.doesNotMatch(chunked, /Transfer-Encoding/);
  });

  test('HEAD, 204 and 304 have no body, regardless of their header fields', async () => {
    using client = await RawClient.open(port);
    for (const [request, end] of [
      ['HEAD /x', /200 OK.*\r\n\r\n$/s],
      ['GET /204', /204 No Content\r\n.*\r\n\r\n$/s],
      ['GET /304', /304 Not Modified\r\n.*\r\n\r\n$/s],
    ] as const) {
      client.received = '';
      await client.write(`${request} HTTP/1.1\r\n${HOST}\r\n`).sees(end);
    }
    client.received = '';
    await client.write(`GET /after HTTP/1.1\r\n${HOST}\r\n`).sees(/GET \/after$/);
  });

  test('chunked bodies with trailers stream in both directions at once, and the connection is kept', async () => {
    using client = await RawClient.open(port);
    await client.write(`POST /echo HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`).sees('hello');
    await client.write('6;name=value\r\n again\r\n').sees(' again');
    await client.write('0\r\nX-Trailer: 1\r\n\r\n').sees(/\r\n0\r\n\r\n$/);
    await client.write(`GET /kept HTTP/1.1\r\n${HOST}\r\n`).sees(/GET \/kept$/);
    const trailed = await exchange(
      port,
      `POST /length HTTP/1.1\r\n${HOST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n`,
    );
    assert.match(trailed, /saw-x-sum: 7\r\n.*\r\n\r\n3$/s);
    assert.match(
      await exchange(port, `GET /trailers HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`),
      /4\r\nbody\r\n0\r\nx-sum: 42\r\n\r\n$/,
    );
  });

  test('the upstream’s 100 (Continue) is passed to a client that expects it', async () => {
    using client = await RawClient.open(port);
    await client
      .write(`POST /length HTTP/1.1\r\n${HOST}Expect: 100-continue\r\nContent-Length: 5\r\n\r\n`)
      .sees('HTTP/1.1 100 Continue\r\n\r\n');
    await client.write('12345').sees(/200 OK.*\r\n\r\n5$/s);
  });

  test('interim responses are forwarded, and events are forwarded immediately', async () => {
    assert.match(
      await exchange(port, `GET /hints HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`),
      /^HTTP\/1\.1 103 Early Hints\r\nLink: .*\r\n\r\nHTTP\/1\.1 200 OK/s,
    );
    using client = await RawClient.open(port);
    await client.write(`GET /events HTTP/1.1\r\n${HOST}\r\n`).sees('data: first\n\n');
    assert.equal(client.ended, false);
  });

  test('50 MB pass in either direction', async () => {
    const down = await dataplane.visit('a.test', '/big');
    assert.equal(down.text.length, 50 * MEGABYTE);
    const up = await dataplane.visit('a.test', '/length', { method: 'POST', body: Buffer.alloc(50 * MEGABYTE) });
    assert.equal(up.text, String(50 * MEGABYTE));
  });

  test('a response that arrives before the body is complete is forwarded, and the connection is closed', async () => {
    using client = await RawClient.open(port);
    client.write(`POST /early HTTP/1.1\r\n${HOST}Content-Length: 10000000\r\n\r\n${'x'.repeat(200_000)}`);
    await client.sees('enough');
    await client.toEnd();
  });

  test('a response that the upstream cuts off is cut off for the client, too', async () => {
    const cut = await exchange(port, `GET /cut HTTP/1.1\r\n${HOST}\r\n`);
    assert.match(cut, /Content-Length: 100\r\n.*part$/s);
  });

  test('a client that half-closes its connection still gets its response', async () => {
    using client = await RawClient.open(port);
    client.socket.end(`GET /x HTTP/1.1\r\n${HOST}\r\n`);
    assert.match(await client.toEnd(), /GET \/x$/);
  });

  test('hop-by-hop fields are not forwarded, and forwarding fields from a client are replaced', async () => {
    const answer = await exchange(
      port,
      `GET /headers HTTP/1.1\r\n${HOST}Connection: close, X-Secret\r\nX-Secret: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nProxy: evil\r\nX-Forwarded-For: 6.6.6.6\r\nX_Forwarded_For: 6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\nForwarded: for=6.6.6.6\r\nX-Request-ID: mine\r\nX-Kept: yes\r\n\r\n`,
    );
    const raw = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)) as string[];
    const fields = new Map(raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1]]] : [])) as [string, string][]);
    assert.equal(fields.get('host'), 'a.test');
    assert.equal(fields.get('x-kept'), 'yes');
    assert.equal(fields.get('x-forwarded-for'), '127.0.0.1');
    assert.equal(fields.get('x-real-ip'), '127.0.0.1');
    assert.equal(fields.get('x-forwarded-proto'), 'http');
    assert.equal(fields.get('x-forwarded-host'), 'a.test');
    assert.match(fields.get('x-request-id') ?? '', /^[0-9a-f]{24,}$/);
    for (const name of ['x-secret', 'keep-alive', 'te', 'proxy', 'forwarded', 'x_forwarded_for'])
      assert.equal(fields.has(name), false, name);
  });

  test('a malformed request is answered with 400 and never reaches the upstream', async () => {
    const before = upstream.requests;
    for (const bad of [
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `POST / HTTP/1.1\r\n${HOST}Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc`,
      `POST / HTTP/1.1\r\n${HOST}Content-Length: +3\r\n\r\nabc`,
      `POST / HTTP/1.1\r\n${HOST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`,
      `POST / HTTP/1.0\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `GET / HTTP/1.1\r\n${HOST}${HOST}\r\n`,
      'GET / HTTP/1.1\r\n\r\n',
      'GET / HTTP/1.1\nHost: a.test\n\n',
      `GET / HTTP/1.1\r\n${HOST} folded\r\n\r\n`,
      `GET / HTTP/1.1\r\n${HOST}X: a\0b\r\n\r\n`,
      `GET / HTTP/1.1\r\n${HOST}X : a\r\n\r\n`,
      `GET http://b.test/ HTTP/1.1\r\n${HOST}\r\n`,
      `GET / HTTP/2.0\r\n${HOST}\r\n`,
      `GET /a b HTTP/1.1\r\n${HOST}\r\n`,
    ]) {
      const answer = await exchange(port, bad);
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/, JSON.stringify(bad));
      assert.match(answer, /Connection: close/);
    }
    assert.match(await exchange(port, `GET / HTTP/1.1\r\n${HOST}X: ${'x'.repeat(17_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /);
    assert.match(await exchange(port, `GET /${'x'.repeat(9_000)} HTTP/1.1\r\n${HOST}\r\n`), /^HTTP\/1\.1 414 /);
    assert.match(await exchange(port, `CONNECT a.test:443 HTTP/1.1\r\n${HOST}\r\n`), /^HTTP\/1\.1 501 /);
    assert.equal(upstream.requests, before);
    const chunk = await exchange(port, `POST /length HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nxyz\r\n\r\n`);
    assert.match(chunk, /^HTTP\/1\.1 400 /);
  });

  test('a client that disconnects closes its upstream connection and is counted as 499', async () => {
    let [requested, upstreamClosed] = [false, false];
    const silent = createServer((socket) => {
      socket.on('data', () => {
        requested = true;
      });
      socket.on('error', () => undefined);
      socket.on('close', () => {
        upstreamClosed = true;
      });
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const address = silent.address() as { port: number };
    await dataplane.route('silent.test', `127.0.0.1:${address.port}`);
    const visitor = connect(port, '127.0.0.1', () => visitor.write('GET / HTTP/1.1\r\nHost: silent.test\r\n\r\n'));
    // A connection that is not established yet would be kept for the next request instead of being closed.
    await until('the request to have arrived', () => requested);
    assert.match((await dataplane.admin('GET', '/upstreams')).text, /"in_flight":1/);
    visitor.resetAndDestroy();
    await until('the upstream connection to go', () => upstreamClosed);
    const snapshot = JSON.parse((await dataplane.admin('GET', '/analytics/silent.test')).text) as { status_codes: { other: number } };
    assert.equal(snapshot.status_codes.other, 1);
    silent.close();
  });
});
