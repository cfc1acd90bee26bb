import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { after, before, describe, test } from 'node:test';
import { CertificatesFixture } from '../../testing/certificates.ts';
import { block, CODE, FLAG, FRAME, frame, head } from '../../testing/http2/frames.ts';
import { SecureFixture } from '../../testing/proxy/secure-proxy.ts';
import { eventually, ProxyFixture, site } from '../../testing/proxy/test-proxy.ts';
import { stillness } from '../../testing/stillness.ts';
import { ok, UpstreamFixture } from '../../testing/test-upstream.ts';
import { field } from '../../testing/wire.ts';

const authority = new CertificatesFixture();
const names = ['a.test', 'other.test'];
const { cert, key } = authority.issue(...names);

type Got = {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly trailers: IncomingHttpHeaders;
  readonly status: number;
};

class Scene {
  readonly upstream: UpstreamFixture;
  readonly proxy: ProxyFixture;
  readonly client: ClientHttp2Session;

  private constructor(upstream: UpstreamFixture, proxy: ProxyFixture) {
    this.upstream = upstream;
    this.proxy = proxy;
    this.client = connect(`https://a.test:${proxy.securePort}`, { ca: authority.ca, host: '127.0.0.1' });
    this.client.on('error', () => undefined);
  }

  static async before(upstream: UpstreamFixture): Promise<Scene> {
    const proxy = await ProxyFixture.with([site('a.test', upstream), { ...site('b.test', upstream) }], { httpsPort: 0 });
    await proxy.certify({ domains: names, certificate: cert, private_key: key });
    return new Scene(upstream, proxy);
  }

  request(headers: OutgoingHttpHeaders, more: { endStream?: boolean } = {}): ClientHttp2Stream {
    return this.client.request({ ':path': '/', ':authority': 'a.test', ...headers }, more);
  }

  get(headers: OutgoingHttpHeaders = {}): Promise<Got> {
    return answerTo(this.request(headers));
  }

  [Symbol.dispose](): void {
    this.client.destroy();
    this.proxy[Symbol.dispose]();
    this.upstream[Symbol.dispose]();
  }
}

async function answerTo(stream: ClientHttp2Stream): Promise<Got> {
  let trailers: IncomingHttpHeaders = {};
  let body = '';
  stream.on('trailers', (headers: IncomingHttpHeaders) => {
    trailers = headers;
  });
  stream.setEncoding('latin1').on('data', (text: string) => {
    body += text;
  });
  const [headers] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  if (!stream.readableEnded) await once(stream, 'end');
  return { headers, body, trailers, status: headers[':status'] ?? 0 };
}

describe('a request over HTTP/2', () => {
  test('is answered like one over HTTP/1.1, with policies, default fields and forwarded fields', async () => {
    using scene = await Scene.before(await UpstreamFixture.serving(ok('hello')));
    const { status, headers, body } = await scene.get({ ':path': '/x?y=1', cookie: 'a=1', accept: 'text/html' });
    assert.deepEqual([status, body, headers['content-length'], headers['x-frame-options']], [200, 'hello', '5', 'SAMEORIGIN']);
    assert.equal(headers['strict-transport-security'], 'max-age=31536000');
    assert.equal(typeof headers.date, 'string');
    const head = scene.upstream.requests[0]?.head ?? '';
    assert.match(head, /^GET \/x\?y=1 HTTP\/1.1\r\nHost: a.test\r\n/);
    assert.deepEqual(
      ['Cookie', 'Accept', 'X-Forwarded-Proto', 'X-Forwarded-Host', 'X-Real-IP'].map((name) => field(head, name)),
      ['a=1', 'text/html', 'https', 'a.test', '127.0.0.1'],
    );
    assert.equal(scene.proxy.counted().get('a.test')?.requests, 1);
  });

  test('is one of many that are served concurrently and answered in any order', async () => {
    using scene = await Scene.before(await UpstreamFixture.serving((request) => ok(request.line.split(' ')[1] ?? '')));
    const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => scene.get({ ':path': `/${at}` })));
    assert.deepEqual(
      answers.map(({ body }) => body),
      Array.from({ length: 100 }, (_, at) => `/${at}`),
    );
  });

  test('has a body of known or unknown length, small or large', async () => {
    using scene = await Scene.before(await UpstreamFixture.serving((request) => ok(`${request.body.length}`)));
    for (const size of [1, 1_000, 65_536, 65_537, 1_000_000]) {
      for (const known of [true, false]) {
        const stream = scene.request({ ':method': 'POST', ...(known && { 'content-length': size }) }, { endStream: false });
        stream.end(Buffer.alloc(size, 'x'));
        assert.equal((await answerTo(stream)).body, `${size}`, `${size} bytes, ${known ? 'known' : 'unknown'}`);
      }
    }
  });

  test('has a response without a body for HEAD, 204 and 304', async () => {
    using scene = await Scene.before(
      await UpstreamFixture.serving((request) =>
        request.line.startsWith('HEAD') ? 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n' : 'HTTP/1.1 204 No Content\r\nX-A: b\r\n\r\n',
      ),
    );
    const head = await scene.get({ ':method': 'HEAD' });
    assert.deepEqual([head.status, head.headers['content-length'], head.body], [200, '9', '']);
    const none = await scene.get();
    assert.deepEqual([none.status, none.headers['x-a'], none.body], [204, 'b', '']);
  });

  test('passes trailers on in both directions', async () => {
    using scene = await Scene.before(
      await UpstreamFixture.serving(() => 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nGrpc-Status: 0\r\n\r\n'),
    );
    const stream = scene.client.request(
      { ':path': '/', ':authority': 'a.test', ':method': 'POST', te: 'trailers' },
      { waitForTrailers: true },
    );
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }));
    stream.end('body');
    const { body, trailers } = await answerTo(stream);
    assert.deepEqual([body, trailers['grpc-status']], ['ok', '0']);
    assert.equal(scene.upstream.requests[0]?.trailers, 'x-sum: 7\r\n');
  });

  test('receives interim responses before the final one', async () => {
    using scene = await Scene.before(await UpstreamFixture.serving(() => `HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n${ok('x')}`));
    const stream = scene.request({});
    const hints: IncomingHttpHeaders[] = [];
    stream.on('headers', (headers: IncomingHttpHeaders) => hints.push(headers));
    assert.equal((await answerTo(stream)).status, 200);
    assert.equal(hints[0]?.link, '</a.css>');
  });

  test('receives an endless response as it arrives', async () => {
    using upstream = await UpstreamFixture.start();
    using scene = await Scene.before(upstream);
    const stream = scene.request({});
    const { wire } = await upstream.nextRequest();
    wire.send('HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n');
    await once(stream, 'response');
    for (const text of ['data: 1\n\n', 'data: 2\n\n']) {
      const came = once(stream, 'data');
      wire.send(`${text.length.toString(16)}\r\n${text}\r\n`);
      assert.equal(String((await came)[0]), text);
    }
  });

  test('that is cancelled cancels its upstream request and counts as 499', async () => {
    using upstream = await UpstreamFixture.start();
    using scene = await Scene.before(upstream);
    const stream = scene.request({});
    const { wire } = await upstream.nextRequest();
    stream.close(constants.NGHTTP2_CANCEL);
    await wire.until('the upstream connection to be closed', () => wire.ended || wire.closed);
    await eventually('it to be counted', () => scene.proxy.counted().get('a.test')?.classes[5] === 1);
  });

  for (const how of ['closes its connection', 'half-closes its connection'] as const) {
    test(`ends together with its client if the client ${how}`, async () => {
      using upstream = await UpstreamFixture.start();
      using secure = await SecureFixture.before(upstream);
      const client = await secure.greeted();
      client.request(1, head([':method', 'POST']), 0).send(FRAME.data, 0, 1, 'hello');
      const wire = await upstream.accept();
      await wire.readThrough('hello\r\n');
      if (how === 'closes its connection') client.socket.destroy();
      else client.socket.end();
      // Nothing that would make the body look complete.
      assert.equal(await wire.readAll(), '');
      await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
    });
  }

  test('that is cancelled with NO_ERROR releases an upstream that does not read', async () => {
    using upstream = await UpstreamFixture.start();
    using secure = await SecureFixture.before(upstream);
    const client = await secure.greeted();
    client.request(1, head([':method', 'POST']), 0);
    const wire = await upstream.accept();
    await wire.readHead();
    wire.socket.pause();
    const piece = Buffer.alloc(16_384);
    const used = () => client.of(1, FRAME.windowUpdate).reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    // Until the proxy stops opening the stream's window.
    for (let sent = 0, looks = 0; looks < 25 && !client.closed; ) {
      const room = 65_535 + used() - sent;
      looks = room < piece.length ? looks + 1 : 0;
      if (room < piece.length) await new Promise((resolve) => setTimeout(resolve, 2));
      else {
        client.send(FRAME.data, 0, 1, piece);
        sent += piece.length;
      }
    }
    client.send(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, CODE.none]));
    await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
    wire.send(ok('too late'));
    await client.answered();
  });

  for (const [name, code] of [
    ['NO_ERROR', CODE.none],
    ['CANCEL', CODE.cancel],
    ['PROTOCOL_ERROR', CODE.protocol],
  ] as const) {
    test(`whose body is cut off with ${name} never looks complete to its upstream`, async () => {
      using upstream = await UpstreamFixture.start();
      using secure = await SecureFixture.before(upstream);
      const client = await secure.greeted();
      client.request(1, head([':method', 'POST']), 0).send(FRAME.data, 0, 1, 'hello');
      const wire = await upstream.accept();
      await wire.readThrough('hello\r\n');
      client.request(3, head([':method', 'POST'], ['content-length', '10']), 0).send(FRAME.data, 0, 3, 'hello');
      await client.answered();
      for (const stream of [1, 3]) client.send(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, code]));
      assert.equal(await wire.readAll(), '');
      await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
      assert.equal(upstream.connections.length, 1);
    });
  }

  test('of any kind that is cancelled in the same packet never reaches its upstream', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using secure = await SecureFixture.before(upstream);
    const client = await secure.greeted();
    await client.answered();
    const malformed = block(head(['host', 'b.test']));
    for (const [at, fields] of [block(head()), malformed, block(head([':path', '/']))].entries()) {
      const stream = at * 2 + 1;
      client.write(
        Buffer.concat([
          frame(FRAME.headers, FLAG.endHeaders | FLAG.endStream, stream, fields),
          frame(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, CODE.cancel])),
        ]),
      );
    }
    await client.answered();
    assert.equal(upstream.requests.length, 0);
    client.request(7);
    await client.until('an answer', () => client.status(7) === 200);
    await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
  });

  test('that is complete and cancelled with NO_ERROR in the same packet leaves nothing behind', async () => {
    using upstream = await UpstreamFixture.serving(ok('x'));
    using secure = await SecureFixture.before(upstream);
    const client = await secure.greeted();
    await client.answered();
    client.write(
      Buffer.concat([
        frame(FRAME.headers, FLAG.endHeaders, 1, block(head([':method', 'POST']))),
        frame(FRAME.data, FLAG.endStream, 1, 'hello'),
        frame(FRAME.reset, 0, 1, Buffer.from([0, 0, 0, CODE.none])),
      ]),
    );
    await client.answered();
    await eventually('nothing to be under way', () => secure.proxy.ledger.inFlight.total() === 0);
    assert.equal(upstream.requests.length, 0);
  });

  test("receives the upstream's repeated fields and bytes beyond ASCII unchanged, but no hop-by-hop fields", async () => {
    const fields = [
      'Connection: close, X-Private',
      'X-Private: 1',
      'Keep-Alive: timeout=5',
      'Proxy-Connection: close',
      'Content-Type: text/plain',
      'Content-Type: text/html',
      'Set-Cookie: a=1',
      'Set-Cookie: b=2',
      'X-Padded:   \xe9\xa0\t',
      'X-Empty:',
    ];
    using scene = await Scene.before(await UpstreamFixture.serving(ok('x', `${fields.join('\r\n')}\r\n`)));
    const stream = scene.request({});
    const answer = answerTo(stream);
    const [, , raw] = (await once(stream, 'response')) as [unknown, unknown, string[]];
    const got = (name: string) => raw.filter((_, at) => raw[at - 1] === name && at % 2 === 1);
    assert.deepEqual(got('content-type'), ['text/plain', 'text/html']);
    assert.deepEqual(got('set-cookie'), ['a=1', 'b=2']);
    assert.deepEqual([got('x-padded'), got('x-empty')], [['\xe9\xa0'], ['']]);
    for (const name of ['connection', 'x-private', 'keep-alive', 'proxy-connection']) assert.deepEqual(got(name), []);
    assert.equal((await answer).body, 'x');
  });

  test('passes on repeated trailers, and interim responses with fields that HTTP/2 forbids', async () => {
    const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\nLink: </b.css>\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n';
    const trailers = 'X-A: 1\r\nX-A: 2\r\nETag: "a"\r\nETag: "b"\r\n';
    const answer = `${interim}HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${trailers}\r\n`;
    using scene = await Scene.before(await UpstreamFixture.serving(answer));
    const stream = scene.request({});
    let hints = '';
    stream.on('headers', (headers: IncomingHttpHeaders) => {
      hints = String(headers.link);
    });
    const { body, trailers: got } = await answerTo(stream);
    assert.deepEqual([hints, body, got['x-a']], ['</a.css>, </b.css>', 'ok', '1, 2']);
  });

  for (const [what, head] of [
    ['of known length', 'Content-Length: 10\r\n\r\nabc'],
    ['without a length', 'Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n'],
    ['that is delimited by the close but ends with a reset', '\r\nabc'],
  ] as const) {
    test(`whose response is cut off is reset, never ended as if it were complete (${what})`, async () => {
      using upstream = await UpstreamFixture.start();
      using scene = await Scene.before(upstream);
      const stream = scene.request({});
      let failed = false;
      stream.on('error', () => {
        failed = true;
      });
      const { wire } = await upstream.nextRequest();
      wire.send(`HTTP/1.1 200 OK\r\n${head}`);
      await once(stream, 'data');
      wire.reset();
      await new Promise((resolve) => stream.once('close', resolve));
      assert.ok(failed, 'the client sees that the response is truncated');
      assert.notEqual(stream.rstCode, constants.NGHTTP2_NO_ERROR);
    });
  }

  test('is answered with 421 for a host that the certificate does not cover', async () => {
    using scene = await Scene.before(await UpstreamFixture.serving(ok('x')));
    assert.equal((await scene.get({ ':authority': 'b.test' })).status, 421);
  });

  test('with two hosts is malformed and never reaches the upstream', async () => {
    using scene = await Scene.before(await UpstreamFixture.serving(ok('x')));
    await assert.rejects(scene.get({ ':authority': 'a.test', host: 'b.test' }), { code: 'ERR_HTTP2_STREAM_ERROR' });
    assert.equal(scene.upstream.requests.length, 0);
  });

  test('whose response is large reads the upstream no faster than the client reads', async () => {
    const size = 20_000_000;
    using upstream = await UpstreamFixture.start();
    using scene = await Scene.before(upstream);
    const stream = scene.request({});
    const { wire } = await upstream.nextRequest();
    wire.send(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n`);
    wire.socket.write(Buffer.alloc(size, 'x'));
    await once(stream, 'response');
    stream.pause();
    const { socket } = wire;
    await stillness('the upstream to be paused', () => (socket.writableLength > 0 ? socket.bytesWritten - socket.writableLength : 0));
    let got = 0;
    stream.on('data', (chunk: Buffer) => {
      got += chunk.length;
    });
    stream.resume();
    await once(stream, 'end');
    assert.equal(got, size);
  });
});

describe('a connection over HTTP/2', () => {
  let scene: Scene;
  before(async () => {
    scene = await Scene.before(await UpstreamFixture.start());
  });
  after(() => scene[Symbol.dispose]());

  test('receives GOAWAY when the worker shuts down, and its requests are completed', async () => {
    const stream = scene.request({});
    const { wire } = await scene.upstream.nextRequest();
    const goaway = once(scene.client, 'goaway');
    scene.proxy.drain('on-response');
    await goaway;
    wire.send(ok('last'));
    assert.equal((await answerTo(stream)).body, 'last');
    await once(scene.client, 'close');
  });
});
