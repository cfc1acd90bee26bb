import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import zlib from 'node:zlib';
import type { RouteInput } from '../../../shared/route.ts';
import { Http2Client, Http2UpstreamFixture } from '../testing/http2/upstream.ts';
import { cachingProxy } from '../testing/proxy/caching-proxy.ts';
import { eventually, get, ProxyFixture, site } from '../testing/proxy/test-proxy.ts';
import { UpstreamFixture } from '../testing/test-upstream.ts';
import { field, type Message } from '../testing/wire.ts';

type Pages = NonNullable<RouteInput['handle_errors']>;
const GONE = { address: '127.0.0.1:1' };
const PATHS = ['/{err.status_code}.html'];
let root: string;

before(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'error-files-'));
  for (const status of [404, 502, 503]) fs.writeFileSync(path.join(root, `${status}.html`), `<p>our ${status}</p>`);
  fs.writeFileSync(path.join(root, 'long.html'), '<p>the same line</p>\n'.repeat(1_000));
  fs.writeFileSync(path.join(root, 'data.json'), '{"error":true}');
  fs.writeFileSync(path.join(root, 'large.html'), Buffer.alloc(1_048_577));
  fs.writeFileSync(path.join(root, '.secret.html'), 'secret');
  fs.symlinkSync('/etc/passwd', path.join(root, 'out.html'));
});
after(() => fs.rmSync(root, { recursive: true }));

const route = (pages: Pages, more: Partial<RouteInput> = {}): RouteInput => ({ ...site('a.test', GONE), handle_errors: pages, ...more });
const shown = ({ line, head, body }: Message) => [Number(line.slice(9, 12)), field(head, 'content-type'), body];

test('errors of the proxy and of a file server have pages from files, with their own status and fields', async () => {
  using proxy = await ProxyFixture.start([
    route([{ files: { root, paths: PATHS }, headers: [{ name: 'Cache-Control', value: 'no-store' }] }], {
      handles: [
        { path: '/files/*', root, file_server: {} },
        { path: '/down', upstreams: [GONE] },
        { path: '/none', upstreams: [] },
        { path: '/limited', request_body: { max_size: 0 }, upstreams: [GONE] },
        { path: '/private', basic_auth: { users: [{ name: 'a', hash: '$2b$04$'.padEnd(60, 'a') }] }, upstreams: [GONE] },
        { path: '/said', respond: { status: 404, body: 'said' } },
      ],
      upstreams: [],
    }),
  ]);
  const html = 'text/html; charset=utf-8';
  const missing = await proxy.request(get('/files/none'));
  assert.deepEqual(shown(missing), [404, html, '<p>our 404</p>']);
  assert.equal(field(missing.head, 'cache-control'), 'no-store');
  assert.equal(field(missing.head, 'x-frame-options'), 'SAMEORIGIN');
  assert.equal(field(missing.head, 'etag'), null);
  assert.deepEqual(shown(await proxy.request(get('/down'))), [502, html, '<p>our 502</p>']);
  assert.deepEqual(shown(await proxy.request(get('/elsewhere'))), [404, html, '<p>our 404</p>']);
  assert.equal((await proxy.request(get('/said'))).body, 'said');
  const head = await proxy.request(get('/down').replace('GET', 'HEAD'));
  assert.deepEqual([...shown(head), field(head.head, 'content-length')], [502, html, '', '14']);
  const conditions = 'If-None-Match: *\r\nIf-Modified-Since: Fri, 01 Jan 2100 00:00:00 GMT\r\nRange: bytes=0-3\r\n';
  for (const target of ['/down', '/files/none']) assert.match((await proxy.request(get(target, conditions))).body, /^<p>our \d+<\/p>$/);
  const refused = await proxy.request(get('/private'));
  assert.match(refused.body, /401/, 'the default page is served for a missing one');
  assert.match(field(refused.head, 'www-authenticate') ?? '', /^Basic/);
  const post = await proxy.request('POST /limited HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\nx');
  assert.match(post.line, / 413 /);
  using client = new Http2Client(proxy);
  const { status, body } = await client.request({ ':path': '/down' });
  assert.deepEqual([status, body], [502, '<p>our 502</p>']);
  const upload = await client.request({ ':path': '/down', ':method': 'POST' }, 'x'.repeat(200_000));
  assert.deepEqual([upload.status, upload.body], [502, '<p>our 502</p>']);
  const wire = await proxy.connect();
  wire.send(get('/down') + get('/files/none') + get('/said'));
  const bodies = [await wire.readAnswer('GET'), await wire.readAnswer('GET'), await wire.readAnswer('GET')].map((answer) => answer.body);
  assert.deepEqual(bodies, ['<p>our 502</p>', '<p>our 404</p>', 'said']);
});

test('the first file that can be read is the page, and only files inside the root are', async () => {
  const pageOf = async (...paths: string[]) => {
    using proxy = await ProxyFixture.start([route([{ files: { root, paths } }])]);
    return shown(await proxy.request(get('/long')));
  };
  const [, , fallback] = await pageOf('/none.html');
  assert.match(String(fallback), /<h1>502<\/h1>/);
  for (const hidden of ['/out.html', '/.secret.html', '/large.html', '/'])
    assert.deepEqual(await pageOf(hidden), [502, 'text/html; charset=utf-8', fallback], hidden);
  assert.deepEqual((await pageOf('/none.html', '/out.html', '/data.json')).slice(1), ['application/json', '{"error":true}']);
  assert.match(String((await pageOf('{path}.html')).at(-1)), /^<p>the same line/);
});

test('a client does not lead the path of a page out of the directory that the site has written', async () => {
  fs.mkdirSync(path.join(root, 'errors'));
  fs.writeFileSync(path.join(root, 'errors', 'en.html'), 'English');
  fs.writeFileSync(path.join(root, 'errors', 'notes.txt'), 'notes');
  const users = [{ name: 'a', hash: '$2b$04$'.padEnd(60, 'a') }];
  const more: Partial<RouteInput> = { root, file_server: {}, handles: [{ path: '/data.json', basic_auth: { users }, file_server: {} }] };
  for (const [file, ...targets] of [
    ['/errors/{query.page}', '/x?page=../data.json', '/x?page=..%2Fdata.json', '/x?page=%252e%252e/data.json', '/x?page=..%5Cdata.json'],
    ['/errors{path}', '/../data.json', '/%2e%2e/data.json', '/x/../../data.json', '/data.json'],
    ['/errors/{query.page}.html', '/x?page=notes.txt?', '/x?page=notes.txt%23', '/x?page=../errors/en'],
  ] as const) {
    using proxy = await ProxyFixture.start([route([{ files: { root, paths: [file] } }], more)]);
    for (const target of targets) assert.match((await proxy.request(get(target))).body, /<h1>40[014]<\/h1>/, `${file} ${target}`);
  }
  using proxy = await ProxyFixture.start([route([{ files: { root, paths: ['{query.dir}/en.html'] } }], more)]);
  assert.equal((await proxy.request(get('/x?dir=/errors'))).body, 'English');
});

test('a file that is refused is not its own error page, nor that of another request', async () => {
  const served = path.join(root, 'served');
  fs.mkdirSync(path.join(served, 'private'), { recursive: true });
  for (const name of ['a.html', 'index.html', 'page.html', '401.html'])
    fs.writeFileSync(path.join(served, 'private', name), `private ${name}`);
  fs.writeFileSync(path.join(served, '404.de.html'), 'fehlt');
  const users = [{ name: 'a', hash: '$2b$04$'.padEnd(60, 'a') }];
  const guarded = { path: '/private/*', basic_auth: { users } };
  const more: Partial<RouteInput> = { root: served, file_server: {}, try_files: ['{path}', '{path}/page.html'], handles: [guarded] };
  const bodyOf = async (target: string, dir: string, ...paths: string[]) => {
    using proxy = await ProxyFixture.start([route([{ files: { root: dir, paths } }], more)]);
    return (await proxy.request(get(target))).body;
  };
  for (const [target, dir, ...paths] of [
    ['/private/a.html', served, '{path}', '{uri}', '/{path.0}/{path.1}', '/{path}'],
    ['/private/a', served, '{path}.html'],
    ['/private/', served, '{path}', '{path}index.html', '/{path.0}/index.html', '/{path.0}/page.html'],
    ['/none?x=private/a', served, '/{query.x}.html', '/{http.response.header.none}{query.x}.html'],
    ['/private/a.html', root, '/served{path}', '//served/{path}', '{path}'],
    ['/served/private/a.html', root, '{path}'],
    ['/private/a.html?', served, '{uri}/404.html', '{orig_uri}x.html'],
    ['/none?private/a.html?', served, '/{query}/404.html', '/{query}/{err.status_code}.html', '/{query}{path}/404.html'],
  ] as const)
    for (const file of paths) assert.doesNotMatch(await bodyOf(target, dir, file), /^private/, file);
  assert.equal(await bodyOf('/private/a.html', served, '{path}', '/{path.0}/{err.status_code}.html'), 'private 401.html');
  assert.equal(await bodyOf('/none?lang=de', served, '/{query.lang}.html', '/{err.status_code}.{query.lang}.html'), 'fehlt');
  assert.equal(await bodyOf('/en?page=long', root, '/{query.page}.html', '/errors{path}.html'), 'English');
  assert.match(await bodyOf('/en', path.join(root, 'errors'), '{path}.html'), /^English/);
});

test('a site has error pages named after its own hosts, also in a directory that it serves', async () => {
  const served = path.join(root, 'hosts');
  fs.mkdirSync(path.join(served, 'b.test'), { recursive: true });
  for (const name of ['a.test.html', '404.x.b.test.html', 'private.html', 'b.test/private.html'])
    fs.writeFileSync(path.join(served, name), `page ${name}`);
  const bodyOf = async (domain: string, host: string, target: string, ...paths: string[]) => {
    const site = { domain, root: served, file_server: {}, tls: false };
    using proxy = await ProxyFixture.start([route([{ files: { root: served, paths } }], site)]);
    return (await proxy.request(get(target).replace('Host: a.test', `Host: ${host}`))).body;
  };
  assert.equal(await bodyOf('a.test', 'A.test:80', '/none', '/{host}.html'), 'page a.test.html');
  assert.equal(await bodyOf('*.b.test', 'x.b.test', '/none', '/{err.status_code}.{host}.html'), 'page 404.x.b.test.html');
  // A client of a site for all hosts chooses the host, and that of any site the path.
  assert.match(await bodyOf('*', 'private', '/none', '/{host}.html'), /<h1>404/);
  assert.match(await bodyOf('b.test', 'b.test', '/none?x=private', '/{host}/{query.x}.html'), /<h1>404/);
});

test('an upstream may name the page in a header, also in a directory that the site serves', async () => {
  using upstream = await UpstreamFixture.serving(({ line }) =>
    ['HTTP/1.1 503 Busy', ...(line.includes('/none') ? [] : ['X-Page: long']), 'Content-Length: 0', '', ''].join('\r\n'),
  );
  const handles = [{ path: '/files/*', root, file_server: {} }];
  const bodyOf = async (target: string, file: string) => {
    const pages = [{ files: { root, paths: [file] }, intercept: true }];
    using proxy = await ProxyFixture.start([route(pages, { upstreams: [{ address: upstream.address }], handles })]);
    return (await proxy.request(get(target))).body;
  };
  for (const file of ['/{http.response.header.x-page}.html', '/{http.response.header.x-page}{http.response.header.none}.html'])
    assert.match(await bodyOf('/', file), /^<p>the same line/, file);
  // Without the header, the client would choose.
  assert.match(await bodyOf('/none/404', '/{http.response.header.x-page}{path.1}.html'), /<h1>503/);
});

test('a path made from the request does not lead out of the root', async () => {
  fs.writeFileSync(path.join(path.dirname(root), `${path.basename(root)}.txt`), 'outside');
  using proxy = await ProxyFixture.start([route([{ files: { root, paths: ['/x{path}', '/{query.p}', '/{header.x-p}'] } }])]);
  const up = `../${path.basename(root)}.txt`;
  for (const escaped of [up, up.replace('..', '%2e%2e'), up.replace('/', '%2f'), up.replace('../', '..%5c')])
    assert.doesNotMatch((await proxy.request(get(`/${escaped}?p=${escaped}`, `X-P: ${escaped}\r\n`))).body, /outside/);
  fs.rmSync(path.join(path.dirname(root), `${path.basename(root)}.txt`));
});

test('pages from files are compressed as the block says', async () => {
  using proxy = await ProxyFixture.start([
    route([{ files: { root, paths: ['/long.html'] } }], { encode: { formats: [{ name: 'gzip' }] } }),
  ]);
  const { line, head, body } = await proxy.request(get('/', 'Accept-Encoding: gzip\r\n'));
  assert.match(line, / 502 /);
  assert.deepEqual([field(head, 'content-encoding'), field(head, 'vary')], ['gzip', 'Accept-Encoding']);
  assert.match(zlib.gunzipSync(Buffer.from(body, 'latin1')).toString(), /^<p>the same line/);
});

test('the root of the site or block is used if the page names none, and a dry run shows the pages', async () => {
  using proxy = await ProxyFixture.start([route([{ statuses: ['5xx'], files: { paths: PATHS }, intercept: true }], { root })]);
  assert.equal((await proxy.request(get())).body, '<p>our 502</p>');
  assert.deepEqual(proxy.dryRun('http://a.test/').policies, [
    { name: 'handle_errors', verdict: `5xx: /{err.status_code}.html below ${root}, also the upstream's` },
  ]);
});

const KEPT = 'Set-Cookie: a=b\r\nRetry-After: 7\r\nETag: "1"\r\nContent-Encoding: br\r\n';
const INTERCEPTING: Pages = [
  {
    statuses: ['4xx', 503],
    files: {
      get root() {
        return root;
      },
      paths: ['/{err.status_code}.html'],
    },
    intercept: true,
  },
];

for (const [kind, length, chunked] of [
  ['a short body', 20, false],
  ['a long body', 3_000_000, false],
  ['chunks', 20, true],
  ['no body', 0, false],
] as const)
  test(`intercept replaces an upstream’s error with ${kind} by a file, and keeps cookies and the connection`, async () => {
    using upstream = await UpstreamFixture.serving(({ line }) => {
      const status = line.includes('/teapot') ? '418 Teapot' : line.includes('/fine') ? '200 OK' : '503 Busy';
      const body = line.startsWith('HEAD') ? '' : 'x'.repeat(length);
      const framing = chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`;
      const framed = chunked && body !== '' ? `${length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
      return `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\n${KEPT}${framing}\r\n\r\n${framed}`;
    });
    using proxy = await ProxyFixture.start([route(INTERCEPTING, { upstreams: [{ address: upstream.address }] })]);
    for (const method of ['GET', 'HEAD', 'GET']) {
      const answer = await proxy.request(get().replace('GET', method));
      assert.deepEqual(shown(answer), [503, 'text/html; charset=utf-8', method === 'HEAD' ? '' : '<p>our 503</p>']);
      const fields = ['set-cookie', 'retry-after', 'etag', 'content-encoding', 'content-length'].map((name) => field(answer.head, name));
      assert.deepEqual(fields, ['a=b', '7', null, null, '14']);
    }
    const teapot = await proxy.request(get('/teapot'));
    assert.equal(teapot.line.slice(9, 12), '418');
    assert.match(teapot.body, /<h1>418<\/h1>/, 'the default page where the file is missing');
    assert.equal((await proxy.request(get('/fine'))).body.length, length);
    using client = new Http2Client(proxy);
    assert.equal((await client.request({ ':path': '/' })).body, '<p>our 503</p>');
    await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
  });

test('intercept with a file works for HTTP/2 upstreams, declined upgrades and bodies that are cut off', async () => {
  using modern = await Http2UpstreamFixture.serving(({ stream }) => {
    stream.respond({ ':status': 503 });
    stream.end('x'.repeat(100_000));
  });
  using upstream = await UpstreamFixture.serving(({ line }, wire) => {
    if (!line.includes('/cut')) return 'HTTP/1.1 404 No\r\nContent-Length: 4\r\nCache-Control: max-age=60\r\n\r\nnone';
    wire.send('HTTP/1.1 404 No\r\nContent-Length: 10\r\n\r\nhalf');
    wire.reset();
    return null;
  });
  using proxy = await ProxyFixture.start([
    route(INTERCEPTING, {
      upstreams: [{ address: upstream.address }],
      handles: [{ path: '/modern', upstreams: [{ address: modern.address }], transport: { protocol: 'h2c' } }],
    }),
  ]);
  for (let count = 0; count < 3; count++) assert.equal((await proxy.request(get('/modern'))).body, '<p>our 503</p>');
  const upgrade =
    'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n';
  assert.equal((await proxy.request(get('/socket', upgrade))).body, '<p>our 404</p>');
  assert.equal((await proxy.request(get('/cut'))).body, '<p>our 404</p>');
  await eventually('nothing to be under way', () => proxy.ledger.inFlight.total() === 0);
});

test('a client that leaves while the page is read leaves nothing behind', async () => {
  using proxy = await ProxyFixture.start([route([{ files: { root, paths: PATHS } }])]);
  for (let count = 0; count < 20; count++) {
    const client = await proxy.connect();
    client.send(get());
    client.reset();
  }
  await eventually('the connections to be gone', () => proxy.ledger.connections.open() === 0);
  assert.equal((await proxy.request(get())).body, '<p>our 502</p>');
});

test('intercept replaces errors from the cache as it replaces those of the upstream, by a text or a file', async () => {
  using upstream = await UpstreamFixture.serving('HTTP/1.1 404 No\r\nContent-Length: 4\r\nCache-Control: max-age=60\r\n\r\nnone');
  for (const page of [{ respond: 'our 404' }, { files: { root, paths: ['/404.html'] } }]) {
    using proxy = await cachingProxy(route([{ ...page, intercept: true }], { upstreams: [{ address: upstream.address }], cache: {} }));
    for (const state of ['fwd=uri-miss', 'hit']) {
      const { head, body } = await proxy.request(get());
      assert.match(body, /our 404/);
      assert.match(field(head, 'cache-status') ?? '', new RegExp(state));
    }
  }
});
