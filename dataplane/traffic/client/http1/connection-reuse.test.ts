import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, refusingAddress, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const post = (framing: string, body = '') => `POST / HTTP/1.1\r\nHost: a.test\r\n${framing}\r\n\r\n${body}`;
const old = (fields = '', method = 'GET') => `${method} / HTTP/1.0\r\nHost: a.test\r\n${fields}\r\n`;

/** A client and an upstream with one request between them; the upstream has received its beginning. */
async function between(request: string, heard: string) {
  const upstream = await UpstreamFixture.start();
  const proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(request);
  const wire = await upstream.accept();
  await wire.readThrough(heard);
  const end = () => {
    upstream[Symbol.dispose]();
    proxy[Symbol.dispose]();
  };
  return { upstream, proxy, client, wire, [Symbol.dispose]: end };
}

// 100 Continue (RFC 9110 10.1.1).

test('the body of a client that does not wait for 100 Continue is forwarded, and so is the 100', async () => {
  using way = await between(post('Expect: 100-continue\r\nContent-Length: 5', 'hello'), 'hello');
  way.wire.send(`HTTP/1.1 100 Continue\r\n\r\n${ok('done')}`);
  assert.equal((await way.client.readAnswer()).line, 'HTTP/1.1 100 Continue');
  assert.equal((await way.client.readAnswer()).body, 'done');
  way.client.send(get());
  assert.match((await way.wire.readRequest()).line, /^GET /, 'both connections stay open');
});

test('a chunked body waits for 100 Continue too', async () => {
  using way = await between(post('Expect: 100-continue\r\nTransfer-Encoding: chunked'), '\r\n\r\n');
  way.wire.send('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n');
  assert.equal(field((await way.client.readAnswer()).head, 'Link'), '</a>');
  assert.equal((await way.client.readAnswer()).line, 'HTTP/1.1 100 Continue');
  way.client.send('2\r\nhi\r\n0\r\nX-Sum: 2\r\n\r\n');
  assert.deepEqual(await way.wire.readChunked(), { body: 'hi', trailers: 'X-Sum: 2\r\n' });
  way.wire.send(ok('done'));
  assert.equal((await way.client.readAnswer()).body, 'done');
});

test('a final response of our own instead of 100 Continue closes the connection, because a body may or may not follow', async () => {
  using proxy = await ProxyFixture.start([{ ...site('a.test'), respond: { status: 403, body: 'no' } }]);
  const client = await proxy.connect();
  client.send(post('Expect: 100-continue\r\nContent-Length: 5'));
  const answer = await client.readAll();
  assert.match(answer, /^HTTP\/1\.1 403 [\s\S]*\r\nConnection: close\r\n[\s\S]*no$/);
});

test('an Expect from an HTTP/1.0 client is ignored: its body is forwarded at once, and no 100 is sent', async () => {
  using upstream = await UpstreamFixture.serving((request) => `HTTP/1.1 100 Continue\r\n\r\n${ok(request.body)}`);
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${old('Expect: 100-continue\r\nContent-Length: 5\r\n', 'POST')}hello`);
  assert.match(await client.readAll(), /^HTTP\/1\.1 200 [\s\S]*\r\n\r\nhello$/);
});

// Responses that come before the request has ended.

test('an early response with little of the body left keeps the client’s connection open, but closes the upstream’s', async () => {
  using way = await between(post('Content-Length: 70000', 'begin'), 'begin');
  way.client.send('x'.repeat(60_000));
  await way.wire.read(60_000);
  way.wire.send(ok('early'));
  assert.equal((await way.client.readAnswer()).body, 'early');
  way.client.send('x'.repeat(9_995) + get());
  const next = await way.upstream.nextRequest();
  assert.match(next.request.line, /^GET /);
  next.wire.send(ok('next'));
  assert.equal((await way.client.readAnswer()).body, 'next');
  assert.equal(way.wire.ended || way.wire.closed, true);
});

test('an early response to a chunked body closes the connection, because the length of the rest is unknown', async () => {
  using way = await between(post('Transfer-Encoding: chunked', '5\r\nbegin\r\n'), 'begin\r\n');
  way.wire.send(ok('early'));
  assert.equal((await way.client.readAnswer()).body, 'early');
  await way.client.until('the end', () => way.client.ended);
  await way.wire.until('the end', () => way.wire.ended || way.wire.closed);
});

test('the early response of an upstream that then closes its connection is delivered, and the rest of the body is dropped', async () => {
  using way = await between(post('Content-Length: 10000000', 'begin'), 'begin');
  way.wire.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig');
  for (let nth = 0; nth < 4; nth++) way.client.send(Buffer.alloc(65_536));
  const answer = await way.client.readAnswer();
  assert.deepEqual([answer.line, answer.body], ['HTTP/1.1 413 Content Too Large', 'big']);
  await way.client.until('the end', () => way.client.ended);
  assert.equal(way.client.failed, false);
});

test('a response that streams concurrently with its request keeps both connections once both have ended', async () => {
  using way = await between(post('Transfer-Encoding: chunked', '3\r\none\r\n'), 'one\r\n');
  way.wire.send('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nONE\r\n');
  await way.client.readThrough('ONE\r\n');
  way.client.send('3\r\ntwo\r\n0\r\n\r\n');
  await way.wire.readThrough('0\r\n\r\n');
  way.wire.send('3\r\nTWO\r\n0\r\n\r\n');
  await way.client.readThrough('TWO\r\n0\r\n\r\n');
  way.client.send(get());
  assert.match((await way.wire.readRequest()).line, /^GET /);
});

// Pipelining (RFC 9112 9.3.2).

test('errors in the middle of a pipeline are answered in order, and the later requests are served', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line.split(' ')[1] ?? ''));
  const refusing = { address: await refusingAddress() };
  using proxy = await ProxyFixture.start([site('a.test', upstream), site('down.test', refusing)]);
  const client = await proxy.connect();
  const down = get('/2').replace('a.test', 'down.test');
  const unknown = get('/4').replace('a.test', 'unknown.test');
  client.send(get('/1') + down + get('/3') + unknown + post('Content-Length: 3', 'abc') + get('/6'));
  const answers: string[] = [];
  for (let nth = 0; nth < 6; nth++) {
    const { line, body } = await client.readAnswer();
    answers.push(line.includes(' 200 ') ? body : line.slice(9, 12));
  }
  assert.deepEqual(answers, ['/1', '502', '/3', '404', '/', '/6']);
});

test('a malformed request in a pipeline is answered with 400 after the earlier responses, and nothing after it is read', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${get('/1')}${get('/2')}GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n${get('/4')}`);
  const answers = await client.readAll();
  assert.deepEqual(answers.match(/HTTP\/1\.1 \d+/g), ['HTTP/1.1 200', 'HTTP/1.1 200', 'HTTP/1.1 400']);
  assert.equal(upstream.requests.length, 2);
});

// Keep-alive, and its absence (RFC 9112 9.3).

test('a connection to an HTTP/1.0 upstream is reused only if the upstream offers keep-alive', async () => {
  for (const [offer, connections] of [
    ['Connection: keep-alive\r\n', 1],
    ['', 2],
  ] as const) {
    using upstream = await UpstreamFixture.serving(`HTTP/1.0 200 OK\r\n${offer}Content-Length: 1\r\n\r\nx`);
    using proxy = await ProxyFixture.before(upstream);
    const client = await proxy.connect();
    for (let nth = 0; nth < 2; nth++) {
      client.send(get());
      const { head } = await client.readAnswer();
      assert.equal(field(head, 'Connection'), null, 'keep-alive is hop-by-hop');
    }
    assert.equal(upstream.connections.length, connections, JSON.stringify(offer));
  }
});

test('an HTTP/1.0 connection stays open after HEAD, 204 and 304, and closes after a response delimited by the close', async () => {
  const answers: Record<string, string> = {
    '/head': 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n',
    '/204': 'HTTP/1.1 204 No Content\r\n\r\n',
    '/304': 'HTTP/1.1 304 Not Modified\r\n\r\n',
  };
  using upstream = await UpstreamFixture.serving((request, wire) => {
    const answer = answers[request.line.split(' ')[1] ?? ''];
    if (answer === undefined) wire.end('HTTP/1.1 200 OK\r\n\r\nto the end');
    return answer ?? null;
  });
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  const sendRequest = (method: string, path: string) => client.send(old('Connection: Keep-Alive\r\n', method).replace(' / ', ` ${path} `));
  for (const [method, path] of [
    ['HEAD', '/head'],
    ['GET', '/204'],
    ['GET', '/304'],
  ] as const) {
    sendRequest(method, path);
    const { head } = await client.readAnswer(method);
    assert.equal(field(head, 'Connection'), 'keep-alive', path);
    assert.equal(field(head, 'Transfer-Encoding'), null, path);
  }
  sendRequest('GET', '/end');
  assert.match(await client.readAll(), /\r\nConnection: close\r\n(.*\r\n)*\r\nto the end$/);
});

test('HEAD and 304 of a chunked resource have neither body nor transfer coding, and the next response is read correctly', async () => {
  const head = 'Transfer-Encoding: chunked\r\n\r\n';
  using upstream = await UpstreamFixture.serving((request) =>
    request.line.startsWith('HEAD')
      ? `HTTP/1.1 200 OK\r\n${head}`
      : request.line.includes('304')
        ? `HTTP/1.1 304 Not Modified\r\n${head}`
        : ok('next'),
  );
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(get().replace('GET', 'HEAD') + get('/304') + get('/next'));
  assert.equal(field((await client.readAnswer('HEAD')).head, 'Content-Length'), null);
  assert.match((await client.readAnswer()).line, / 304 /);
  assert.equal((await client.readAnswer()).body, 'next');
  assert.equal(upstream.connections.length, 3, 'a body may follow if the head announces one');
});

test('a 204 never has a Content-Length, even if the upstream sends 0', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n');
  using proxy = await ProxyFixture.before(upstream);
  assert.equal(field((await proxy.request(get())).head, 'Content-Length'), null);
});

// Half-closed connections.

test('an upstream that half-closes before its response causes a 502, and within it a truncated response', async () => {
  using before = await between(get(), '\r\n\r\n');
  before.wire.end();
  assert.match((await before.client.readAnswer()).line, / 502 /);
  using after = await between(get(), '\r\n\r\n');
  after.wire.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf');
  assert.match(await after.client.readAll(), /half$/);
  await eventually('the count', () => after.proxy.ledger.inFlight.total() === 0);
});

test('an upstream that closes an idle connection does not affect the client', async () => {
  using way = await between(get(), '\r\n\r\n');
  way.wire.send(ok('one'));
  await way.client.readAnswer();
  way.wire.end();
  await way.wire.until('our end', () => way.wire.ended || way.wire.closed);
  way.client.send(post('Content-Length: 3', 'abc'));
  const next = await way.upstream.nextRequest();
  next.wire.send(ok('two'));
  assert.equal((await way.client.readAnswer()).body, 'two');
});
