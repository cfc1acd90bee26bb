import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import zlib from 'node:zlib';
import { eventually, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';

const SCRIPT = '<script defer src="/.sluice/vitals.js"></script>';
const PAGE = '<!doctype html><html><head><title>Grüße</title></head><body><p>Hello</p></body></html>';
const MEASURED = PAGE.replace('</head>', `${SCRIPT}</head>`);
const HTML = { 'content-type': 'text/html; charset=utf-8' };

/** By default brotli takes seconds of CPU time for a megabyte. */
const QUICK = { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 };

const CODINGS = {
  identity: { encode: (text: string) => Buffer.from(text), decode: (bytes: Buffer) => bytes, stream: null },
  gzip: { encode: zlib.gzipSync, decode: zlib.gunzipSync, stream: zlib.createGzip },
  br: { encode: zlib.brotliCompressSync, decode: zlib.brotliDecompressSync, stream: () => zlib.createBrotliCompress({ params: QUICK }) },
  zstd: { encode: zlib.zstdCompressSync, decode: zlib.zstdDecompressSync, stream: zlib.createZstdCompress },
} as const;
type Coding = keyof typeof CODINGS;

/** A real server behind a proxy that measures the pages of `a.test`. */
class Setup {
  readonly proxy: ProxyFixture;
  private readonly close: () => void;

  private constructor(proxy: ProxyFixture, close: () => void) {
    this.proxy = proxy;
    this.close = close;
  }

  static async of(answer: RequestListener, analytics: unknown = true): Promise<Setup> {
    const server = createServer(answer);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const proxy = await ProxyFixture.start([{ ...site('a.test', { address }), analytics } as ReturnType<typeof site>]);
    return new Setup(proxy, () => server.close().closeAllConnections());
  }

  begin(path = '/', options: { method?: string; headers?: Record<string, string> } = {}): Promise<IncomingMessage> {
    const { method = 'GET', headers = {} } = options;
    return new Promise((resolve, reject) => {
      const sent = request({ port: this.proxy.port, host: '127.0.0.1', path, method, headers: { host: 'a.test', ...headers } }, resolve);
      sent.on('error', reject).end();
    });
  }

  async request(path = '/', options: { method?: string; headers?: Record<string, string> } = {}) {
    const answer = await this.begin(path, options);
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return { status: answer.statusCode, fields: answer.headers, bytes: Buffer.concat(pieces) };
  }

  [Symbol.dispose](): void {
    this.proxy[Symbol.dispose]();
    this.close();
  }
}

const serving = (fields: IncomingHttpHeaders, body: string | Buffer = PAGE, status = 200) =>
  Setup.of((asked, response) => {
    response.writeHead(status, { ...HTML, ...fields });
    response.end(asked.method === 'HEAD' ? undefined : body);
  });

describe('a page gets the script before the end of its head, and nothing else changes', () => {
  for (const [coding, { encode, decode }] of Object.entries(CODINGS) as [Coding, (typeof CODINGS)[Coding]][])
    test(`in the content coding ${coding}`, async () => {
      const body = encode(PAGE);
      const fields = {
        'content-encoding': coding,
        'content-length': String(body.length),
        etag: '"1"',
        'accept-ranges': 'bytes',
        'x-own': 'kept',
      };
      using setup = await serving(fields, body);
      const { status, fields: got, bytes } = await setup.request();
      assert.equal(status, 200);
      assert.equal(decode(bytes).toString(), MEASURED);
      assert.deepEqual(
        [got.etag, got['content-length'], got['accept-ranges'], got['x-own'], got['content-type'], got['content-encoding']],
        ['W/"1"', undefined, undefined, 'kept', HTML['content-type'], coding],
      );
      // HEAD has the fields of GET.
      const head = await setup.request('/', { method: 'HEAD' });
      const names = (one: IncomingHttpHeaders) =>
        Object.keys(one)
          .filter((name) => name !== 'transfer-encoding')
          .sort();
      assert.deepEqual([head.status, head.bytes.length, head.fields.etag], [200, 0, 'W/"1"']);
      assert.deepEqual(names(head.fields), names(got));
    });

  for (const [coding, { decode, stream }] of Object.entries(CODINGS) as [Coding, (typeof CODINGS)[Coding]][])
    test(`of a large page in ${coding}, for a client that reads slowly`, async () => {
      const rest = Array.from({ length: 60_000 }, (_, line) => `<p>line ${line} ${(line * 2_654_435_761) % 4_294_967_296}</p>\n`).join('');
      using setup = await Setup.of((_, response) => {
        response.writeHead(200, { ...HTML, ...(stream && { 'content-encoding': coding }) });
        const out = stream === null ? response : stream();
        if (out !== response) (out as zlib.Gzip).pipe(response);
        out.end(PAGE + rest);
      });
      const answer = await setup.begin();
      const pieces: Buffer[] = [];
      for await (const piece of answer) {
        pieces.push(piece as Buffer);
        if (pieces.length % 16 === 0) await new Promise(setImmediate);
      }
      assert.ok(decode(Buffer.concat(pieces)).toString() === MEASURED + rest);
    });

  for (const [coding, { stream }] of Object.entries(CODINGS) as [Coding, (typeof CODINGS)[Coding]][])
    test(`and what the server flushes in ${coding} arrives before the page is complete`, async () => {
      let finish = (): void => undefined;
      using setup = await Setup.of((_, response) => {
        response.writeHead(200, { ...HTML, ...(stream && { 'content-encoding': coding }) });
        const out = stream === null ? response : stream();
        if (out !== response) (out as zlib.Gzip).pipe(response);
        const [first = '', second = ''] = PAGE.split('<p>');
        out.write(first);
        if (out !== response) (out as zlib.Gzip).flush();
        finish = () => void out.end(`<p>${second}`);
      });
      const answer = await setup.begin();
      const decoder =
        coding === 'identity'
          ? answer
          : answer.pipe(
              coding === 'gzip' ? zlib.createGunzip() : coding === 'br' ? zlib.createBrotliDecompress() : zlib.createZstdDecompress(),
            );
      let text = '';
      decoder.on('data', (piece: Buffer) => {
        text += piece.toString();
      });
      await eventually('the first part', () => text.endsWith('<body>'));
      finish();
      await once(decoder, 'end');
      assert.equal(text, MEASURED);
    });
});

describe('left exactly as it is', () => {
  const untouched: readonly (readonly [string, IncomingHttpHeaders, (string | Buffer)?, number?])[] = [
    ['what is no HTML', { 'content-type': 'text/plain' }],
    ['XHTML', { 'content-type': 'application/xhtml+xml' }],
    ['another encoding', { 'content-type': 'text/html; charset=iso-8859-1' }],
    ['a part of a page', { 'content-range': `bytes 0-${Buffer.byteLength(PAGE) - 1}/1000` }, PAGE, 206],
    ['a page that must not be changed', { 'cache-control': 'public, no-transform' }],
    ['a download', { 'content-disposition': 'attachment; filename=a.html' }],
    ['a content coding that is unknown', { 'content-encoding': 'compress' }],
    ['two content codings', { 'content-encoding': 'gzip, br' }],
  ];
  for (const [what, fields, body = PAGE, status = 200] of untouched)
    test(what, async () => {
      using setup = await serving(
        { etag: '"1"', 'content-length': String(Buffer.byteLength(body)), 'accept-ranges': 'bytes', ...fields },
        body,
        status,
      );
      const { fields: got, bytes } = await setup.request();
      assert.equal(bytes.toString(), PAGE);
      assert.deepEqual([got.etag, got['accept-ranges'], got['content-length']], ['"1"', 'bytes', String(Buffer.byteLength(body))]);
    });

  test('the answer to POST', async () => {
    using setup = await serving({ etag: '"1"' });
    const { fields, bytes } = await setup.request('/', { method: 'POST' });
    assert.deepEqual([bytes.toString(), fields.etag], [PAGE, '"1"']);
  });

  for (const [why, policy] of [
    ['forbids scripts', "default-src 'none'; style-src 'self'"],
    ['forbids posting', "script-src 'self'; connect-src https://api.example"],
  ] as const)
    test(`the text of a page whose policy ${why}`, async () => {
      using setup = await serving({ 'content-security-policy': policy });
      const { fields, bytes } = await setup.request();
      assert.deepEqual([bytes.toString(), fields['content-security-policy']], [PAGE, policy]);
    });

  test('the text of a page whose own <meta> forbids scripts, or whose policy can’t be read', async () => {
    for (const policy of ["script-src 'none'", 'script-src &#39;self&#39;']) {
      const page = PAGE.replace('<title>', `<meta http-equiv="Content-Security-Policy" content="${policy}"><title>`);
      using setup = await serving({}, page);
      assert.equal((await setup.request()).bytes.toString(), page);
    }
  });

  test('what has two content types', async () => {
    using setup = await Setup.of((_, response) =>
      response.writeHead(200, ['content-type', 'text/html', 'content-type', 'text/plain', 'etag', '"1"']).end(PAGE),
    );
    const { fields, bytes } = await setup.request();
    assert.deepEqual([bytes.toString(), fields.etag], [PAGE, '"1"']);
  });

  test('the text of a page with more policies than are read', async () => {
    const policy = (at: number) => `<meta http-equiv="Content-Security-Policy" content="script-src 'self' 'nonce-${at}'">`;
    const page = PAGE.replace('<title>', `${Array.from({ length: 2_000 }, (_, at) => policy(at)).join('')}<title>`);
    using setup = await serving({}, page);
    assert.equal((await setup.request()).bytes.toString(), page);
  });

  test('the text of a page whose own <meta> names another encoding', async () => {
    for (const meta of ['<meta charset="windows-1251">', '<meta http-equiv=Content-Type content="text/html; charset=shift_jis">']) {
      const page = PAGE.replace('<title>', `${meta}<title>`);
      using setup = await serving({ 'content-type': 'text/html' }, page);
      assert.equal((await setup.request()).bytes.toString(), page);
    }
  });

  test('the text of a fragment', async () => {
    using setup = await serving({}, '<li>one</li><li>two</li>');
    assert.equal((await setup.request()).bytes.toString(), '<li>one</li><li>two</li>');
  });

  test('the bytes of a page that is not coded as its head says', async () => {
    for (const page of [PAGE, `\n${PAGE}`, '<p>'.repeat(100_000), '<p']) {
      using setup = await serving({ 'content-encoding': 'gzip' }, page);
      const { fields, bytes } = await setup.request();
      assert.deepEqual([fields['content-encoding'], bytes.toString()], ['gzip', page]);
    }
  });

  test('everything where analytics are off', async () => {
    using setup = await Setup.of((_, response) => response.writeHead(200, { ...HTML, etag: '"1"' }).end(PAGE), null);
    const { fields, bytes } = await setup.request();
    assert.deepEqual([bytes.toString(), fields.etag], [PAGE, '"1"']);
    assert.equal((await setup.request('/.sluice/vitals.js')).status, 404);
  });
});

test('a nonce of the policy is used, and a <base> does not move the script to another host', async () => {
  const page = PAGE.replace('<title>', '<base href="https://cdn.example/"><title>');
  using setup = await serving({ 'content-security-policy': "script-src 'nonce-abc' 'strict-dynamic'" }, page);
  const { bytes } = await setup.request();
  assert.equal(
    bytes.toString(),
    page.replace('</head>', '<script defer src="http://a.test/.sluice/vitals.js" nonce="abc"></script></head>'),
  );
});

test('a 304 keeps the tag that its client knows', async () => {
  using setup = await serving({ etag: '"1"' }, '', 304);
  assert.equal((await setup.request('/', { headers: { 'if-none-match': 'W/"1"' } })).fields.etag, 'W/"1"');
  assert.equal((await setup.request('/', { headers: { 'if-none-match': '"1"' } })).fields.etag, '"1"');
});

test('a page whose coding is damaged is visibly truncated', async () => {
  using setup = await serving({ 'content-encoding': 'gzip' }, Buffer.concat([zlib.gzipSync(PAGE).subarray(0, 40), Buffer.alloc(400, 7)]));
  await assert.rejects(setup.request(), /aborted|hang up|reset/);
});

test('of a page whose coding has no end, which browsers show, what can be decoded reaches the client', async () => {
  const whole = zlib.gzipSync(PAGE);
  for (const cut of [4, 8]) {
    using setup = await serving({ 'content-encoding': 'gzip' }, whole.subarray(0, -cut));
    const answer = await setup.begin();
    const pieces: Buffer[] = [];
    answer.on('data', (piece: Buffer) => pieces.push(piece));
    await assert.rejects(once(answer, 'end'), /aborted|hang up|reset/);
    const text = zlib.gunzipSync(Buffer.concat(pieces), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).toString();
    assert.equal(text, MEASURED, `without the last ${cut} bytes`);
  }
});

test('a client that leaves in the middle of an endless page ends it at the server', async () => {
  let closed = false;
  using setup = await Setup.of((_, response) => {
    response.writeHead(200, { ...HTML, 'content-encoding': 'gzip' });
    const endless = Readable.from(
      (function* () {
        yield PAGE;
        for (;;) yield randomBytes(16_384);
      })(),
    );
    endless.pipe(zlib.createGzip()).pipe(response);
    response.on('close', () => {
      closed = true;
      endless.destroy();
    });
  });
  const answer = await setup.begin();
  await once(answer, 'data');
  answer.destroy();
  await eventually('the server notices', () => closed);
});
