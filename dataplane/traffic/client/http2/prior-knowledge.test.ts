import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:http2';
import { after, before, test } from 'node:test';
import { block, CODE, FLAG, FRAME, Frames, frame, head, PREFACE } from '../../testing/http2/frames.ts';
import { eventually, get, ProxyFixture, whenRead } from '../../testing/proxy/test-proxy.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

let upstream: UpstreamFixture;
let proxy: ProxyFixture;
before(async () => {
  upstream = await UpstreamFixture.serving(({ body }) => ok(`got ${body}`));
  proxy = await ProxyFixture.before(upstream);
});
after(() => {
  proxy[Symbol.dispose]();
  upstream[Symbol.dispose]();
});

/** A client of the plain port that sends these pieces first, each of them read before the next is sent. */
async function piecewise(pieces: readonly string[]): Promise<Frames> {
  const client = await Frames.plain(proxy.port);
  for (const piece of pieces) {
    client.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return client;
}

test('a client that begins with the HTTP/2 preface is served on the port without TLS', async () => {
  const session = connect(`http://127.0.0.1:${proxy.port}`);
  const stream = session.request({ ':method': 'POST', ':path': '/x', ':authority': 'a.test' });
  stream.end('body');
  let body = '';
  stream.setEncoding('latin1').on('data', (text: string) => {
    body += text;
  });
  const [headers] = await once(stream, 'response');
  await once(stream, 'end');
  assert.deepEqual([headers[':status'], body], [200, 'got body']);
  const asked = upstream.requests.at(-1)?.head ?? '';
  assert.deepEqual([field(asked, 'X-Forwarded-Proto'), field(asked, 'X-Forwarded-For')], ['http', '127.0.0.1']);
  session.close();
  await once(session, 'close');
  await eventually('no connection to be counted', () => proxy.ledger.connections.open() === 0);
});

test('a request that is cancelled in the packet that opens its connection ends alone', async () => {
  for (const code of Object.values(CODE)) {
    const client = await Frames.plain(proxy.port);
    const request = frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, 1, block(head()));
    const reset = frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, code]));
    client.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0), request, reset]));
    await client.answered();
    client.request(3);
    await client.until('the answer to the next one', () => client.status(3) === 200);
    client.socket.destroy();
  }
});

test('the preface may be split anywhere', async () => {
  for (let at = 1; at < PREFACE.length; at++) {
    using client = await piecewise([PREFACE.slice(0, at), PREFACE.slice(at)]);
    client.settings().request(1);
    await client.until('an answer', () => client.status(1) === 200);
  }
  using bytewise = await piecewise([...PREFACE]);
  bytewise.settings().request(1);
  await bytewise.until('an answer', () => bytewise.status(1) === 200);
});

test('requests may follow the preface in the same packet', async () => {
  using client = await Frames.plain(proxy.port);
  client.socket.cork();
  client
    .greet()
    .request(1)
    .request(3, head([':path', '/second']));
  client.socket.uncork();
  await client.until('both answers', () => client.status(1) === 200 && client.status(3) === 200);
  assert.equal(client.goneCode, undefined);
});

test('requests may be cancelled in the same packet, valid or not', async () => {
  const asked = upstream.requests.length;
  using client = await Frames.plain(proxy.port);
  client.socket.cork();
  client.greet();
  for (const [at, fields] of [head(), head([':authority', 'a b']), head(['host', 'b.test']), head([':scheme', 'ftp'])].entries())
    client.request(2 * at + 1, fields).send(FRAME.reset, 0, 2 * at + 1, Buffer.from([0, 0, 0, CODE.cancel]));
  client.socket.uncork();
  await client.answered();
  assert.equal(upstream.requests.length, asked);
  client.request(9);
  await client.until('an answer', () => client.status(9) === 200);
});

test('an incomplete preface times out after ten seconds', async () => {
  const client = await proxy.connect();
  client.send(PREFACE.slice(0, 20));
  await whenRead();
  proxy.clock.pass(9_000);
  client.send(PREFACE.slice(20, 22));
  await whenRead();
  assert.equal(client.closed || client.ended, false);
  proxy.clock.pass(2_000);
  await client.until('the end', () => client.closed || client.ended);
});

for (const [what, bytes] of [
  ['bytes that only resemble the preface', `${PREFACE.slice(0, 18)}XX\r\n\r\n`],
  ['another version of HTTP', 'GET / HTTP/2.0\r\nHost: a.test\r\n\r\n'],
  ['the preface after another request', `${get()}${PREFACE}`],
] as const) {
  test(`${what} is answered with 400`, async () => {
    const client = await proxy.connect();
    client.send(bytes);
    if (bytes.startsWith(get())) assert.match((await client.readAnswer()).line, /^HTTP\/1.1 200 /);
    assert.match((await client.readAnswer()).line, /^HTTP\/1.1 400 /);
    await client.until('the end', () => client.ended);
  });
}

test('an upgrade to h2c is ignored, and the response is HTTP/1.1', async () => {
  const client = await proxy.connect();
  client.send(get('/', 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n'));
  assert.match((await client.readAnswer()).line, /^HTTP\/1.1 200 /);
});

test('the connection receives GOAWAY when the worker shuts down, and is released when the client just disconnects', async () => {
  using own = await ProxyFixture.before(upstream);
  const [staying, leaving] = [await Frames.plain(own.port), await Frames.plain(own.port)];
  for (const client of [staying, leaving]) {
    client.greet();
    await client.answered();
  }
  leaving.socket.end();
  await eventually('one connection to be left', () => own.ledger.connections.open() === 1);
  own.drain();
  await staying.until('GOAWAY', () => staying.of(0, FRAME.goAway).length > 0);
  staying.socket.destroy();
  await eventually('the worker to be empty', () => own.messages.some(({ kind }) => kind === 'drained'));
});
