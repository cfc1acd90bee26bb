import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import zlib from 'node:zlib';
import type { RouteInput } from '../../../shared/route.ts';
import { ENCODER_MEMORY } from '../respond/encode/memory.ts';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { field } from '../testing/wire.ts';

const TEXT = 'A line of text that is repeated.\n'.repeat(100);
const DECODERS: { readonly [coding: string]: (bytes: Buffer) => Buffer } = {
  gzip: zlib.gunzipSync,
  br: zlib.brotliDecompressSync,
  zstd: zlib.zstdDecompressSync,
};
type Encode = NonNullable<RouteInput['encode']>;
const ALL: Encode = { formats: [{ name: 'zstd' }, { name: 'br' }, { name: 'gzip' }] };
const encoding = (upstream: { readonly address: string }, encode: object = {}, more: object = {}): RouteInput => ({
  ...site('a.test', upstream),
  encode: { ...ALL, ...encode },
  ...more,
});
const sized = (body = TEXT, fields = '', status = '200 OK'): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\n${fields}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const accept = (value: string, path = '/', more = ''): string => get(path, `Accept-Encoding: ${value}\r\n${more}`);
const bytes = (body: string): Buffer => Buffer.from(body, 'latin1');
const nothingHeld = () => eventually('the memory of all encoders to be free', () => ENCODER_MEMORY.isFree);

for (const coding of Object.keys(DECODERS))
  for (const length of [TEXT.length, 200_000])
    test(`a response of ${length} bytes is encoded as ${coding}, over HTTP/1.1 and HTTP/2`, async () => {
      const body = TEXT.repeat(Math.ceil(length / TEXT.length));
      using upstream = await UpstreamFixture.serving(sized(body, 'ETag: "1"\r\nAccept-Ranges: bytes\r\nRepr-Digest: sha-256=:x:\r\n'));
      using proxy = await ProxyFixture.start([encoding(upstream)]);
      const { head, body: coded } = await proxy.request(accept(coding));
      assert.equal(DECODERS[coding]?.(bytes(coded)).toString(), body);
      assert.deepEqual(
        ['content-encoding', 'vary', 'etag', 'content-length', 'accept-ranges', 'repr-digest'].map((name) => field(head, name)),
        [coding, 'Accept-Encoding', 'W/"1"', null, null, null],
      );
      using client = new Http2Client(proxy);
      const stream = client.session.request({ ':path': '/', ':authority': 'a.test', 'accept-encoding': coding });
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece);
      assert.equal(DECODERS[coding]?.(Buffer.concat(pieces)).toString(), body);
      await nothingHeld();
    });

describe('a response that is not encoded is unchanged', () => {
  const ranges = 'Content-Range: bytes 0-3299/9999\r\n';
  const cases: readonly (readonly [why: string, answer: string, request: string, encode?: object])[] = [
    ['a client that accepts nothing', sized(), get()],
    ['a client that refuses every coding', sized(), accept('gzip;q=0, *;q=0')],
    ['a small body', sized('short'), accept('gzip')],
    ['a type that does not compress', sized().replace('text/plain; charset=utf-8', 'image/png'), accept('gzip')],
    ['no type', sized().replace('Content-Type: text/plain; charset=utf-8\r\n', ''), accept('gzip')],
    ['a body that is encoded already', sized(TEXT, 'Content-Encoding: br\r\n'), accept('gzip, br')],
    ['a part of a body', sized(TEXT, ranges, '206 Partial Content'), accept('gzip', '/', 'Range: bytes=0-3299\r\n')],
    ['no-transform', sized(TEXT, 'Cache-Control: public, no-transform\r\n'), accept('gzip')],
    ['cookies', sized(TEXT, 'Set-Cookie: a=b\r\n'), accept('gzip')],
    ['an event stream', sized().replace('text/plain', 'text/event-stream'), accept('gzip'), { types: ['*'] }],
    ['gRPC', sized().replace('text/plain; charset=utf-8', 'application/grpc+proto'), accept('gzip'), { types: ['*'] }],
    ['a type that is not listed', sized(), accept('gzip'), { types: ['application/json'] }],
    ['a status that is not listed', sized(), accept('gzip'), { statuses: ['4xx', 201] }],
    ['an empty list of formats', sized(), accept('gzip'), { formats: [] }],
  ];
  for (const [why, answer, request, encode] of cases)
    test(why, async () => {
      using upstream = await UpstreamFixture.serving(answer);
      using proxy = await ProxyFixture.start([encoding(upstream, encode)]);
      const got = await proxy.request(request);
      assert.equal(got.body, answer.slice(answer.indexOf('\r\n\r\n') + 4));
      assert.equal(field(got.head, 'content-length'), String(got.body.length));
      assert.equal(field(got.head, 'content-encoding'), field(answer, 'content-encoding'));
    });
});

test('Vary names Accept-Encoding once, also if the response is not encoded, and only where it depends on it', async () => {
  using upstream = await UpstreamFixture.serving(({ line }) => {
    const vary = decodeURIComponent(line.split(' ')[1]?.slice(1) ?? '');
    return sized(TEXT, vary && `Vary: ${vary}\r\n`);
  });
  using proxy = await ProxyFixture.start([encoding(upstream)]);
  const vary = async (own: string, request = (path: string) => accept('gzip', path)) =>
    field((await proxy.request(request(`/${encodeURIComponent(own)}`))).head, 'vary');
  assert.equal(await vary(''), 'Accept-Encoding');
  assert.equal(await vary('', get), 'Accept-Encoding', 'a cache must not keep the plain response for everyone');
  assert.equal(await vary('Cookie'), 'Cookie, Accept-Encoding');
  assert.equal(await vary('accept-encoding, Cookie'), 'accept-encoding, Cookie');
  assert.equal(await vary('*'), '*');
  assert.equal(await vary('X-Accept-Encoding'), 'X-Accept-Encoding, Accept-Encoding');
});

test('HEAD has the head of GET, and a 304 the weak tag that its client knows', async () => {
  using upstream = await UpstreamFixture.serving(({ line, head }) => {
    if (head.includes('"1"')) return 'HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n';
    const whole = sized(TEXT, 'ETag: "1"\r\n');
    return line.startsWith('HEAD') ? whole.slice(0, whole.indexOf('\r\n\r\n') + 4) : whole;
  });
  using proxy = await ProxyFixture.start([encoding(upstream)]);
  const essentials = (head: string) => ['content-encoding', 'vary', 'etag', 'content-length'].map((name) => field(head, name));
  const whole = essentials((await proxy.request(accept('gzip'))).head);
  assert.deepEqual(essentials((await proxy.request(accept('gzip').replace('GET', 'HEAD'))).head), whole);
  const again = await proxy.request(accept('gzip', '/', 'If-None-Match: W/"1"\r\n'));
  assert.deepEqual([again.line.slice(9, 12), ...essentials(again.head)], ['304', null, 'Accept-Encoding', 'W/"1"', null]);
  const plain = await proxy.request(get('/', 'If-None-Match: "1"\r\n'));
  assert.deepEqual(essentials(plain.head), [null, null, '"1"', null]);
  await nothingHeld();
});

test('responses that set cookies are encoded if the site asks for it', async () => {
  using upstream = await UpstreamFixture.serving(sized(TEXT, 'Set-Cookie: a=b\r\n'));
  using proxy = await ProxyFixture.start([encoding(upstream, { with_cookies: true })]);
  const { head, body } = await proxy.request(accept('gzip'));
  assert.deepEqual([zlib.gunzipSync(bytes(body)).toString(), field(head, 'set-cookie')], [TEXT, 'a=b']);
});

test('a page gets its script before it is encoded', async () => {
  const page = `<!doctype html><head><title>t</title></head>${'<p>text</p>'.repeat(200)}`;
  using upstream = await UpstreamFixture.serving(sized(page).replace('text/plain', 'text/html'));
  using proxy = await ProxyFixture.start([encoding(upstream, {}, { analytics: {} })]);
  const { body } = await proxy.request(accept('br'));
  assert.match(zlib.brotliDecompressSync(bytes(body)).toString(), /<script defer src="[^"]*vitals\.js"><\/script><\/head>/);
});

test('a fixed response is encoded, and a response of the proxy itself is not', async () => {
  const route: RouteInput = {
    domain: 'a.test',
    upstream: null,
    tls: false,
    respond: { status: 200, body: TEXT },
    encode: ALL,
  };
  using proxy = await ProxyFixture.start([route]);
  assert.equal(zlib.gunzipSync(bytes((await proxy.request(accept('gzip'))).body)).toString(), TEXT);
  assert.equal(field((await proxy.request(accept('gzip', '/.sluice/none'))).head, 'content-encoding'), null);
});

test('a block’s encode replaces its site’s, and an empty list turns it off', async () => {
  using upstream = await UpstreamFixture.serving(sized());
  const handles = [{ path: '/br', encode: { formats: [{ name: 'br' }] } }, { path: '/off', encode: { formats: [] } }, { path: '/same' }];
  using proxy = await ProxyFixture.start([encoding(upstream, {}, { handles })]);
  const coding = async (path: string) => field((await proxy.request(accept('zstd, br, gzip', path))).head, 'content-encoding');
  assert.deepEqual([await coding('/br'), await coding('/off'), await coding('/same'), await coding('/')], ['br', null, 'zstd', 'zstd']);
});

/** The text decoded so far from the chunks that a client has received. */
async function decodedSoFar(coding: string, unread: string): Promise<string> {
  const decoder = coding === 'gzip' ? zlib.createGunzip() : coding === 'br' ? zlib.createBrotliDecompress() : zlib.createZstdDecompress();
  let text = '';
  decoder.on('data', (piece: Buffer) => {
    text += piece;
  });
  let at = unread.indexOf('\r\n\r\n') + 4;
  while (at > 3 && at < unread.length) {
    const end = unread.indexOf('\r\n', at);
    const size = Number.parseInt(unread.slice(at, end), 16);
    const piece = bytes(unread.slice(end + 2, end + 2 + size));
    await new Promise((resolve) => decoder.write(piece, resolve));
    at = end + 2 + size + 2;
  }
  decoder.destroy();
  return text;
}

for (const coding of Object.keys(DECODERS))
  test(`a chunk that the upstream sends alone arrives at once as ${coding}, and trailers after the last`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([encoding(upstream)]);
    const client = await proxy.connect();
    client.send(accept(coding));
    const { wire } = await upstream.nextRequest();
    wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n');
    await client.until('the head, before any of the body', () => client.unread.includes('\r\n\r\n'));
    let sent = '';
    for (const line of ['first\n', 'second\n', 'third\n']) {
      sent += line;
      wire.send(`${line.length.toString(16)}\r\n${line}\r\n`);
      const before = client.unread.length;
      await client.until(`a piece after "${line.trim()}"`, () => client.unread.length > before);
      let decoded = '';
      while (decoded !== sent) {
        const { length } = client.unread;
        decoded = await decodedSoFar(coding, client.unread);
        if (decoded !== sent) await client.until('more of the piece', () => client.unread.length > length);
      }
    }
    wire.send('0\r\nX-Sum: 3\r\n\r\n');
    const { body, trailers } = await client.readAnswer();
    assert.deepEqual([DECODERS[coding]?.(bytes(body)).toString(), trailers], [sent, 'X-Sum: 3\r\n']);
    await nothingHeld();
  });

for (const cut of ['before its stream', 'in its stream'])
  test(`a response that the upstream cuts off ${cut} is visibly truncated`, async () => {
    using upstream = await UpstreamFixture.start();
    using proxy = await ProxyFixture.start([encoding(upstream)]);
    const client = await proxy.connect();
    client.send(accept('gzip'));
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000\r\n\r\n`);
    if (cut === 'in its stream') {
      wire.send(TEXT.repeat(20));
      await client.until('a part of the body', () => client.unread.length > 400);
    }
    wire.reset();
    await client.until('the connection to be closed', () => client.closed || client.ended);
    assert.ok(!client.unread.endsWith('0\r\n\r\n'));
    await nothingHeld();
  });

test('a client that leaves gives back the memory of its encoder and ends the upstream’s response', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([encoding(upstream)]);
  for (const http2 of [false, true]) {
    const client = http2 ? new Http2Client(proxy) : await proxy.connect();
    if (client instanceof Http2Client)
      client.session.request({ ':path': '/', ':authority': 'a.test', 'accept-encoding': 'br' }).on('error', () => undefined);
    else client.send(accept('br'));
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n`);
    await eventually('an encoder', () => !ENCODER_MEMORY.isFree);
    if (client instanceof Http2Client) client.session.destroy();
    else client.reset();
    await nothingHeld();
    await wire.until('the connection to be closed', () => wire.closed || wire.ended);
  }
});

test('a client that does not read makes the upstream wait', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await ProxyFixture.start([encoding(upstream)]);
  const client = await proxy.connect();
  client.socket.pause();
  client.send(accept('gzip'));
  const { wire } = await upstream.nextRequest();
  wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 1000000000\r\n\r\n');
  // Random bytes don't become smaller, so that little is needed to fill the client's side.
  const piece = Buffer.from(Array.from({ length: 65_536 }, (_, at) => (at * 2_654_435_761) >>> 13));
  for (let sent = 0; sent < 64_000_000 && wire.socket.writableLength < 1_000_000; sent += piece.length) {
    wire.send(piece);
    await new Promise(setImmediate);
  }
  assert.ok(wire.socket.writableLength >= 1_000_000, 'the upstream could send 64 MB');
  client.reset();
  await nothingHeld();
});

test('while no memory is left, responses are sent unencoded, with Vary', async () => {
  using upstream = await UpstreamFixture.serving(sized());
  using proxy = await ProxyFixture.start([encoding(upstream)]);
  const release = ENCODER_MEMORY.reserve(134_217_728);
  const { head, body } = await proxy.request(accept('gzip'));
  release();
  assert.deepEqual([body, field(head, 'vary'), field(head, 'content-encoding')], [TEXT, 'Accept-Encoding', null]);
  assert.equal(field((await proxy.request(accept('gzip'))).head, 'content-encoding'), 'gzip');
});

test('an empty response of unknown length is a complete encoding of nothing', async () => {
  using upstream = await UpstreamFixture.serving(
    'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  );
  using proxy = await ProxyFixture.start([encoding(upstream)]);
  assert.equal(zlib.gunzipSync(bytes((await proxy.request(accept('gzip'))).body)).length, 0);
});

test('a response of an HTTP/2 upstream is encoded with its trailers', async () => {
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 200, 'content-type': 'text/plain' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '5' }));
    stream.end(TEXT);
  });
  using proxy = await ProxyFixture.start([encoding(upstream, {}, { transport: { protocol: 'h2c' } })]);
  const { body, trailers } = await proxy.request(accept('gzip'));
  assert.deepEqual([zlib.gunzipSync(bytes(body)).toString(), trailers.toLowerCase()], [TEXT, 'x-sum: 5\r\n']);
});

test('explain says what is encoded', async () => {
  using proxy = await ProxyFixture.start([encoding({ address: '127.0.0.1:1' })]);
  assert.match(JSON.stringify(proxy.dryRun('http://a.test/').policies), /"encode".*zstd, br, gzip/);
});
