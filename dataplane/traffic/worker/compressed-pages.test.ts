// Runs alone: it measures the memory of its process, and counts what is made of node:zlib.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { describe, test } from 'node:test';
import zlib from 'node:zlib';
import { ENCODER_MEMORY } from '../respond/encode/memory.ts';
import { FRAME, Frames, INITIAL_WINDOW, head as requestHead } from '../testing/http2/frames.ts';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';

const PAGE = '<!doctype html><html><head><title>Grüße</title></head><body><p>Hello</p></body></html>';
const MEASURED = PAGE.replace('</head>', '<script defer src="/.sluice/vitals.js"></script></head>');
const MEGABYTE = 1_048_576;
const ENDED = Symbol('visibly truncated');

type Bytes = string | Buffer;
const CODINGS = {
  gzip: { encode: (page: Bytes) => zlib.gzipSync(page), decode: zlib.gunzipSync },
  br: {
    encode: (page: Bytes) => zlib.brotliCompressSync(page, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }),
    decode: zlib.brotliDecompressSync,
  },
  zstd: { encode: (page: Bytes) => zlib.zstdCompressSync(page), decode: zlib.zstdDecompressSync },
} as const;
type Coding = keyof typeof CODINGS;
const codings = Object.keys(CODINGS) as Coding[];

/** Decoders and encoders that are being read and are not closed. */
let open = 0;
// Those of zstd have only this class in common with the others.
const base: EventEmitter = Object.getPrototypeOf(Object.getPrototypeOf(zlib.ZstdDecompress.prototype));
const { on } = base;
base.on = function (this: EventEmitter, event: string | symbol, listener: (...values: unknown[]) => void) {
  if (event === 'data') {
    open++;
    on.call(this, 'close', () => open--);
  }
  return on.call(this, event, listener);
};
const allClosed = () => eventually('every decoder and encoder to be closed', () => open === 0);

const head = (coding: string, length: number | null): string =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: ${coding}\r\n${length === null ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`}\r\n\r\n`;
const whole = (coding: string, body: Buffer): string => head(coding, body.length) + body.toString('latin1');
const chunk = (bytes: Buffer): Buffer => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);

const measuring = (upstream: { readonly address: string }, transport?: { readonly protocol: 'h2c' }) =>
  ProxyFixture.start([{ ...site('a.test', upstream), analytics: {}, ...(transport && { transport }) }]);

/** Over HTTP/2. @returns the bytes of a complete response. */
async function ask(client: Http2Client, coding: Coding): Promise<string | typeof ENDED> {
  const stream = client.session.request({ ':authority': 'a.test', ':path': '/' });
  const pieces: Buffer[] = [];
  try {
    for await (const piece of stream) pieces.push(piece);
  } catch {
    return ENDED;
  }
  const bytes = Buffer.concat(pieces);
  return bytes.length === 0 ? '' : CODINGS[coding].decode(bytes).toString();
}

for (const coding of codings)
  describe(`a page in ${coding}`, () => {
    const { encode, decode } = CODINGS[coding];
    const coded = encode(PAGE);

    test('is visibly truncated if the upstream has truncated its coding anywhere, and is empty if it is', async () => {
      let length = 0;
      using upstream = await UpstreamFixture.serving(() => whole(coding, coded.subarray(0, length)));
      using proxy = await measuring(upstream);
      using client = new Http2Client(proxy);
      for (length = 1; length < coded.length; length++) assert.equal(await ask(client, coding), ENDED, `${length} bytes`);
      length = 0;
      assert.equal(await ask(client, coding), '');
      length = coded.length;
      assert.equal(await ask(client, coding), MEASURED);
      await allClosed();
    });

    test('is the same page or visibly truncated if any of its bytes is damaged', async () => {
      const damaged = Buffer.from(coded);
      using upstream = await UpstreamFixture.serving(() => whole(coding, damaged));
      using proxy = await measuring(upstream);
      using client = new Http2Client(proxy);
      for (const [at, byte] of coded.entries()) {
        damaged[at] = byte ^ 0x41;
        const text = await ask(client, coding);
        // Without a checksum of the page, a decoder can't see all of it.
        if (coding === 'gzip' && at >= 10) assert.ok(text === ENDED || text === MEASURED, `byte ${at}`);
        damaged[at] = byte;
      }
      assert.equal(await ask(client, coding), MEASURED);
      await allClosed();
    });

    test('is empty if nothing arrives in chunks', async () => {
      using upstream = await UpstreamFixture.serving(`${head(coding, null)}0\r\n\r\n`);
      using proxy = await measuring(upstream);
      const { line, body } = await proxy.request(get());
      assert.deepEqual([line, body], ['HTTP/1.1 200 OK', '']);
      await allClosed();
    });

    test('keeps its text if every byte comes in a packet of its own', async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await measuring(upstream);
      const answer = proxy.request(get());
      const { wire } = await upstream.nextRequest();
      wire.send(head(coding, null));
      for (const byte of coded) {
        wire.send(chunk(Buffer.of(byte)));
        await new Promise(setImmediate);
      }
      wire.send('0\r\n\r\n');
      assert.equal(decode(Buffer.from((await answer).body, 'latin1')).toString(), MEASURED);
      await allClosed();
    });

    test('leaves nothing behind when its client leaves at any moment, nor when its upstream does', async () => {
      using upstream = await UpstreamFixture.start();
      using proxy = await measuring(upstream);
      const large = encode(PAGE + Array.from({ length: 5_000 }, (_, line) => `<p>${(line * 2_654_435_761) % 4_294_967_296}`).join(''));
      for (let steps = 0; steps < 12; steps++)
        for (const leaving of ['client', 'upstream'] as const) {
          const wire = await proxy.connect();
          wire.send(get());
          const { wire: target } = await upstream.nextRequest();
          target.send(head(coding, null));
          // A request is sent again if the upstream closes before its response head has arrived.
          if (leaving === 'upstream') await wire.readThrough('200 OK');
          for (let step = 0; step < steps; step++) {
            target.send(chunk(large.subarray(step * 1_000, step * 1_000 + 1_000)));
            await new Promise(setImmediate);
          }
          (leaving === 'client' ? wire : target).reset();
          await eventually('the other side to notice', () => [wire, target].every(({ ended, closed }) => ended || closed));
          wire.reset();
        }
      await allClosed();
    });

    test('passes through in little memory, however large it is when decoded', async () => {
      const zeros = encode(Buffer.alloc(32 * MEGABYTE));
      // Encodings in several parts, where they exist.
      const parts =
        coding === 'br' ? [encode(Buffer.concat([Buffer.from(PAGE), Buffer.alloc(256 * MEGABYTE)]))] : [coded, ...Array(8).fill(zeros)];
      using upstream = await UpstreamFixture.serving(whole(coding, Buffer.concat(parts)));
      using proxy = await measuring(upstream);
      using client = new Http2Client(proxy);
      const before = process.memoryUsage.rss();
      const stream = client.session.request({ ':authority': 'a.test', ':path': '/' });
      let peak = 0;
      for await (const _ of stream) peak = Math.max(peak, process.memoryUsage.rss() - before);
      assert.ok(peak < 150 * MEGABYTE, `${Math.round(peak / MEGABYTE)} MB`);
      await allClosed();
    });
  });

test('members of gzip and frames of zstd are one page', async () => {
  for (const coding of ['gzip', 'zstd'] as const) {
    const parts = [PAGE.slice(0, 50), PAGE.slice(50), ''].map((part) => CODINGS[coding].encode(part));
    using upstream = await UpstreamFixture.serving(whole(coding, Buffer.concat(parts)));
    using proxy = await measuring(upstream);
    using client = new Http2Client(proxy);
    assert.equal(await ask(client, coding), MEASURED);
  }
});

test('bytes after the encoded page are dropped, however many they are, and never reach the next response', async () => {
  for (const [coding, garbage] of [
    ['br', Buffer.alloc(MEGABYTE, 'HTTP/1.1 200 OK\r\n\r\n')],
    ['zstd', Buffer.alloc(MEGABYTE, 'garbage')],
    ['gzip', Buffer.alloc(MEGABYTE)],
  ] as const) {
    using upstream = await UpstreamFixture.serving(whole(coding, Buffer.concat([CODINGS[coding].encode(PAGE), garbage])));
    using proxy = await measuring(upstream);
    const wire = await proxy.connect();
    for (let time = 0; time < 3; time++) {
      wire.send(get());
      const { body } = await wire.readAnswer();
      assert.equal(CODINGS[coding].decode(Buffer.from(body, 'latin1')).toString(), MEASURED, coding);
    }
    assert.equal(upstream.connections.length, 1, 'the connection to the upstream is used again');
  }
  await allClosed();
});

/** A frame of zstd whose window has `bits`, and whose content has no declared size. */
async function framed(page: Bytes, bits: number): Promise<Buffer> {
  const { ZSTD_c_windowLog, ZSTD_c_compressionLevel } = zlib.constants;
  const stream = zlib.createZstdCompress({ params: { [ZSTD_c_windowLog]: bits, [ZSTD_c_compressionLevel]: 1 } });
  stream.write(page);
  setImmediate(() => stream.end());
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

test('a page in zstd that demands more memory than clients have to give is sent as it is', async () => {
  for (const bits of [24, 27]) {
    const coded = await framed(PAGE, bits);
    using upstream = await UpstreamFixture.serving(whole('zstd', coded));
    using proxy = await measuring(upstream);
    const { body } = await proxy.request(get());
    assert.equal(body, coded.toString('latin1'));
    await allClosed();
  }
});

test('a page in zstd whose second frame demands more memory than clients have to give is visibly truncated', async () => {
  using upstream = await UpstreamFixture.start();
  using proxy = await measuring(upstream);
  const client = await proxy.connect();
  client.send(get());
  const { wire } = await upstream.nextRequest();
  wire.send(head('zstd', null));
  wire.send(chunk(await framed(PAGE, 17)));
  await client.readThrough('200 OK');
  wire.send(chunk(await framed(PAGE, 24)));
  wire.send('0\r\n\r\n');
  await eventually('the end of the connection', () => client.ended || client.closed);
  assert.ok(!client.unread.endsWith('\r\n0\r\n\r\n'));
  await allClosed();
  await eventually('its memory to be free', () => ENCODER_MEMORY.isFree);
});

test('five hundred pages at once, from an upstream that speaks HTTP/2, are all whole, and as many as memory allows are measured', async () => {
  let next = 0;
  using upstream = await Http2UpstreamFixture.serving(({ stream }) => {
    const coding = codings[next++ % codings.length] as Coding;
    stream.respond({ ':status': 200, 'content-type': 'text/html', 'content-encoding': coding });
    stream.end(CODINGS[coding].encode(PAGE));
  });
  using proxy = await measuring(upstream, { protocol: 'h2c' });
  const clients = Array.from({ length: 10 }, () => new Http2Client(proxy));
  const pages = await Promise.all(
    clients.flatMap((client) =>
      Array.from({ length: 50 }, async () => {
        const stream = client.session.request({ ':authority': 'a.test', ':path': '/' });
        let coding: Coding = 'gzip';
        stream.on('response', (fields) => {
          coding = String(fields['content-encoding']) as Coding;
        });
        const pieces: Buffer[] = [];
        for await (const piece of stream) pieces.push(piece);
        return CODINGS[coding].decode(Buffer.concat(pieces)).toString();
      }),
    ),
  );
  assert.equal(pages.length, 500);
  assert.ok(pages.every((page) => page === MEASURED || page === PAGE));
  assert.ok(pages.filter((page) => page === MEASURED).length >= 85);
  for (const client of clients) client[Symbol.dispose]();
  await allClosed();
});

describe('pages whose clients read nothing', () => {
  const large = Buffer.from(PAGE.replace('<p>Hello</p>', randomBytes(150_000).toString('base64')));
  const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN } = zlib.constants;
  /** With how many of them are decoded at most: those in Brotli need 17 MB each. */
  const windows: readonly (readonly [Coding, number, () => Bytes | Promise<Bytes>])[] = [
    ['br', 7, () => zlib.brotliCompressSync(large, { params: { [BROTLI_PARAM_QUALITY]: 1, [BROTLI_PARAM_LGWIN]: 24 } })],
    ['zstd', 13, () => framed(large, 23)],
  ];
  for (const [coding, most, make] of windows)
    test(`in ${coding} count with the window that they declare, and further ones are sent as they are`, async () => {
      const coded = Buffer.from(await make());
      using upstream = await UpstreamFixture.serving(whole(coding, coded));
      using proxy = await measuring(upstream);
      const silent = await Frames.plain(proxy.port);
      silent.greet([INITIAL_WINDOW, 0]);
      for (let nth = 0; nth < 30; nth++) silent.request(2 * nth + 1, requestHead([':scheme', 'http']));
      await eventually('their responses', () => silent.received.filter(({ type }) => type === FRAME.headers).length === 30);
      await eventually('those for which there is no memory to be sent as they are', () => open > 0 && open <= 2 * most);
      const { body } = await proxy.request(get());
      assert.equal(body, coded.toString('latin1'));
      silent[Symbol.dispose]();
      await allClosed();
      await eventually('their memory to be free', () => ENCODER_MEMORY.isFree);
    });

  for (const coding of codings)
    test(`in ${coding} take limited memory, and further ones are sent as they are`, async () => {
      const large = Buffer.from(PAGE.replace('<p>Hello</p>', randomBytes(150_000).toString('base64')));
      using upstream = await UpstreamFixture.serving(whole(coding, CODINGS[coding].encode(large)));
      using proxy = await measuring(upstream);
      // A window of nothing: responses can begin, and their bodies wait.
      const silent = await Promise.all(Array.from({ length: 3 }, () => Frames.plain(proxy.port)));
      for (const client of silent) {
        client.greet([INITIAL_WINDOW, 0]);
        for (let nth = 0; nth < 100; nth++) client.request(2 * nth + 1, requestHead([':scheme', 'http']));
      }
      await eventually('all requests at the upstream', () => upstream.requests.length === 300);
      await eventually('their responses', () =>
        silent.every((client) => client.received.filter(({ type }) => type === FRAME.headers).length === 100),
      );
      assert.ok(open <= 2 * 256, `${open} decoders and encoders`);
      const { body } = await proxy.request(get());
      const page = CODINGS[coding].decode(Buffer.from(body, 'latin1')).toString();
      assert.equal(page, large.toString());
      for (const client of silent) client[Symbol.dispose]();
      await allClosed();
      await eventually('their memory to be free', () => ENCODER_MEMORY.isFree);
    });
});
