import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, get, ProxyFixture, site } from '../../testing/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const postHead = (framing: string) => `POST / HTTP/1.1\r\nHost: a.test\r\n${framing}\r\n\r\n`;
/** Time for what must not happen to happen. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 30));

test('a body of 64 KB is taken whole before its target is connected to', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(postHead('Content-Length: 65536') + 'x'.repeat(65_535));
  await aMoment();
  assert.equal(upstream.connections.length, 0);
  client.send('x');
  assert.equal((await client.readAnswer()).body, '65536');
});

test('one byte more streams: its target hears the beginning before the end is sent', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${postHead('Content-Length: 65537')}begin`);
  const wire = await upstream.accept();
  assert.equal(field(await wire.readHead(), 'Content-Length'), '65537');
  assert.equal(await wire.read(5), 'begin');
  client.send('x'.repeat(65_532));
  await wire.read(65_532);
  wire.send(ok('done'));
  assert.equal((await client.readAnswer()).body, 'done');
});

test('a chunked body streams piece by piece, trailers and all; extensions stay behind', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${postHead('Trailer: X-Sum\r\nTransfer-Encoding: chunked')}3;a=b\r\nabc\r\n`);
  const wire = await upstream.accept();
  const head = await wire.readHead();
  assert.equal(field(head, 'Transfer-Encoding'), 'chunked');
  assert.equal(field(head, 'Content-Length'), null);
  assert.equal(await wire.readThrough('abc\r\n'), '3\r\nabc\r\n');
  client.send('2\r\nde\r\n0\r\nX-Sum: 5\r\n\r\n');
  assert.deepEqual(await wire.readChunked(), { body: 'de', trailers: 'X-Sum: 5\r\n' });
  wire.send(ok('done'));
  assert.equal((await client.readAnswer()).body, 'done');
});

test('the request behind a body is found, whatever the framing', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(request.line + request.body));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(
    `${postHead('Content-Length: 3')}abc${postHead('Transfer-Encoding: chunked')}3\r\ndef\r\n0\r\n\r\n${postHead('Content-Length: 0')}${get()}`,
  );
  const bodies: string[] = [];
  for (let nth = 0; nth < 4; nth++) bodies.push((await client.readAnswer()).body);
  assert.deepEqual(bodies, ['POST / HTTP/1.1abc', 'POST / HTTP/1.1def', 'POST / HTTP/1.1', 'GET / HTTP/1.1']);
});

test('Expect: 100-continue goes to the target, its 100 comes back, then the body follows', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(postHead('Expect: 100-continue\r\nContent-Length: 5'));
  const wire = await upstream.accept();
  assert.equal(field(await wire.readHead(), 'Expect'), '100-continue');
  await aMoment();
  assert.equal(client.total, 0);
  wire.send('HTTP/1.1 100 Continue\r\n\r\n');
  assert.equal((await client.readAnswer()).line, 'HTTP/1.1 100 Continue');
  client.send('hello');
  assert.equal(await wire.read(5), 'hello');
  wire.send(ok('done'));
  assert.equal((await client.readAnswer()).body, 'done');
  client.send(get());
  assert.match((await wire.readRequest()).line, /^GET /);
});

test('a target that refuses instead of 100 is heard; neither connection goes on', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(postHead('Expect: 100-continue\r\nContent-Length: 5'));
  const { wire } = { wire: await upstream.accept() };
  await wire.readHead();
  wire.send('HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n');
  assert.match((await client.readAnswer()).line, / 417 /);
  await client.until('the end', () => client.ended);
  await wire.until('the end', () => wire.ended || wire.closed);
});

test('an answer of our own to a small body that is still on its way keeps the connection', async () => {
  using proxy = await ProxyFixture.start([{ ...site('a.test'), respond: { status: 200, body: 'own' } }]);
  const client = await proxy.connect();
  client.send(`${postHead('Content-Length: 1000')}begin`);
  assert.equal((await client.readAnswer()).body, 'own');
  client.send('x'.repeat(995) + get());
  assert.equal((await client.readAnswer()).body, 'own');
});

test('an answer that comes before a large body is through reaches a client that goes on sending', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${postHead('Content-Length: 20000000')}begin`);
  const wire = await upstream.accept();
  await wire.readThrough('begin');
  wire.send('HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig');
  for (let nth = 0; nth < 40; nth++) client.send(Buffer.alloc(65_536));
  const answer = await client.readAnswer();
  assert.match(answer.line, / 413 /);
  assert.equal(answer.body, 'big');
  assert.equal(client.failed, false);
  await wire.until('the end', () => wire.ended || wire.closed);
  await eventually('the connection to end', () => {
    proxy.clock.pass(1_000);
    client.send('x');
    return client.closed || client.failed;
  });
});

test('the rest of a body is never taken for a request after an early answer', async () => {
  using proxy = await ProxyFixture.start([{ ...site('a.test'), respond: { status: 200, body: 'own' } }]);
  const client = await proxy.connect();
  const hidden = get('/hidden');
  client.send(`${postHead(`Content-Length: ${100_000 + hidden.length}`)}${hidden}`);
  const answers = await client.readAll();
  assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 1);
  assert.match(answers, /Connection: close/);
  assert.equal(proxy.counted().get('a.test')?.requests, 1);
});

test('a chunk that is malformed in the middle of a stream cuts the request off at its target', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${postHead('Transfer-Encoding: chunked')}3\r\nabc\r\n`);
  const wire = await upstream.accept();
  await wire.readThrough('abc');
  client.send('zz\r\n');
  assert.match((await client.readAnswer()).line, / 400 /);
  assert.doesNotMatch(await wire.readAll(), /0\r\n\r\n/);
});

test('a client that goes away in the middle of its body cuts the request off at its target', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(`${postHead('Transfer-Encoding: chunked')}3\r\nabc\r\n`);
  const wire = await upstream.accept();
  await wire.readThrough('abc');
  client.end();
  assert.doesNotMatch(await wire.readAll(), /0\r\n\r\n/);
  assert.deepEqual(proxy.counted().get('a.test')?.classes, [0, 0, 0, 0, 0, 1]);
});
