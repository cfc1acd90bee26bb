import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setThreadMemory } from '../../../../shared/runtime/thread-memory.ts';
import { eventually, get, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const postHead = (framing: string) => `POST / HTTP/1.1\r\nHost: a.test\r\n${framing}\r\n\r\n`;
/** Real time in which an event that must not happen would happen. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 30));

test('a 64 KB body is buffered whole before the upstream connection is made', async () => {
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  using proxy = await ProxyFixture.before(upstream);
  const client = await proxy.connect();
  client.send(postHead('Content-Length: 65536') + 'x'.repeat(65_535));
  await aMoment();
  assert.equal(upstream.connections.length, 0);
  client.send('x');
  assert.equal((await client.readAnswer()).body, '65536');
});

test('bodies that are held together take only a part of the memory: those beyond are streamed, until others are answered or given up', async (t) => {
  setThreadMemory(0);
  t.after(() => setThreadMemory(Number.POSITIVE_INFINITY));
  using upstream = await UpstreamFixture.serving((request) => ok(String(request.body.length)));
  using proxy = await ProxyFixture.before(upstream);
  const begin = async () => {
    const client = await proxy.connect();
    client.send(`${postHead('Content-Length: 65536')}x`);
    return client;
  };
  const held = [];
  for (let nth = 0; nth < 8_388_608 / 65_536; nth++) held.push(await begin());
  await aMoment();
  assert.equal(upstream.connections.length, 0);
  const beyond = await begin();
  await eventually('the body beyond to be streamed', () => upstream.connections.length === 1);
  beyond.send('x'.repeat(65_535));
  assert.equal((await beyond.readAnswer()).body, '65536');
  const [answered, left] = held;
  answered?.send('x'.repeat(65_535));
  assert.equal((await answered?.readAnswer())?.body, '65536');
  left?.socket.destroy();
  await eventually('both to be over', () => proxy.counted().get('a.test')?.requests === 3);
  const connections = upstream.connections.length;
  await begin();
  await begin();
  await aMoment();
  assert.equal(upstream.connections.length, connections);
});

test('a body one byte larger is streamed: the upstream receives its beginning before its end is sent', async () => {
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

test('a chunked body is streamed piece by piece with its trailers, without chunk extensions', async () => {
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

test('the request after a body is found with any framing of the body', async () => {
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

test('Expect: 100-continue is forwarded, the 100 comes back, then the body follows', async () => {
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

test("an upstream's refusal instead of 100 is passed on, and neither connection is reused", async () => {
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

test('a fixed response to a small body that is still arriving keeps the connection open', async () => {
  using proxy = await ProxyFixture.start([{ ...site('a.test'), respond: { status: 200, body: 'own' } }]);
  const client = await proxy.connect();
  client.send(`${postHead('Content-Length: 1000')}begin`);
  assert.equal((await client.readAnswer()).body, 'own');
  client.send('x'.repeat(995) + get());
  assert.equal((await client.readAnswer()).body, 'own');
});

test('a response that comes before the end of a large body reaches a client that is still sending', async () => {
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

test('the rest of a body is never read as a request after an early response', async () => {
  using proxy = await ProxyFixture.start([{ ...site('a.test'), respond: { status: 200, body: 'own' } }]);
  const client = await proxy.connect();
  const hidden = get('/hidden');
  client.send(`${postHead(`Content-Length: ${100_000 + hidden.length}`)}${hidden}`);
  const answers = await client.readAll();
  assert.equal(answers.match(/HTTP\/1\.1 200/g)?.length, 1);
  assert.match(answers, /Connection: close/);
  assert.equal(proxy.counted().get('a.test')?.requests, 1);
});

test('a malformed chunk in the middle of a streamed body aborts the upstream request', async () => {
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

test('a client that disconnects in the middle of its body aborts the upstream request', async () => {
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
