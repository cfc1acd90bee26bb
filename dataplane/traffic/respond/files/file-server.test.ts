import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { eventually, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field, type Message } from '../../testing/wire.ts';

let base: string;
let root: string;
let proxy: ProxyFixture;
const OLD = new Date('2020-01-02T03:04:05.678Z');
const BYTES = Buffer.from(Array.from({ length: 1_000 }, (_, at) => at % 10).join(''));
const SECRET = 'outside of the root';

function write(name: string, content: string | Buffer): void {
  fs.mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
  fs.writeFileSync(path.join(root, name), content);
  fs.utimesSync(path.join(root, name), OLD, OLD);
}

const route = (more: Partial<RouteInput> = {}): RouteInput => ({
  domain: 'a.test',
  upstream: null,
  tls: false,
  root,
  file_server: {},
  ...more,
});

before(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'files-'));
  root = path.join(base, 'www');
  fs.mkdirSync(root);
  fs.writeFileSync(path.join(base, 'secret'), SECRET);
  fs.mkdirSync(path.join(base, 'www-other'));
  fs.writeFileSync(path.join(base, 'www-other/secret'), SECRET);
  write('ten.bin', BYTES);
  write('empty.txt', '');
  write('page.html', '<p>äöü</p>');
  write('a b%20ü.txt', 'odd');
  write('docs/index.html', 'the docs');
  write('bare/inner.txt', 'inner');
  write('.env', SECRET);
  write('.well-known/security.txt', 'contact');
  write('app.js', 'plain');
  write('app.js.br', 'brotli');
  write('app.js.gz', 'gzip');
  write('big.bin', Buffer.alloc(3_000_000, 'abc'));
  fs.symlinkSync('../secret', path.join(root, 'out'));
  fs.symlinkSync('..', path.join(root, 'up'));
  fs.symlinkSync('../www-other', path.join(root, 'other'));
  fs.symlinkSync('/etc', path.join(root, 'etc'));
  fs.symlinkSync('.env', path.join(root, 'env'));
  fs.symlinkSync('page.html', path.join(root, 'link.html'));
  fs.symlinkSync('loop', path.join(root, 'loop'));
  fs.symlinkSync('/dev/zero', path.join(root, 'zero'));
  execFileSync('mkfifo', [path.join(root, 'fifo')]);
  proxy = await ProxyFixture.start([route()]);
});

after(() => {
  proxy[Symbol.dispose]();
  fs.rmSync(base, { recursive: true });
});

const ask = (target: string, fields = '', method = 'GET', by = proxy): Promise<Message> =>
  by.request(`${method} ${target} HTTP/1.1\r\nHost: a.test\r\n${fields}\r\n`);
const statusOf = ({ head }: Message): number => Number(head.slice(9, 12));

test('a file is served with its type, length, time and ETag, over HTTP/1.1 and HTTP/2', async () => {
  const answer = await ask('/page.html');
  assert.equal(Buffer.from(answer.body, 'latin1').toString(), '<p>äöü</p>');
  assert.equal(field(answer.head, 'content-type'), 'text/html; charset=utf-8');
  assert.equal(field(answer.head, 'content-length'), '13');
  assert.equal(field(answer.head, 'last-modified'), 'Thu, 02 Jan 2020 03:04:05 GMT');
  assert.match(field(answer.head, 'etag') ?? '', /^"[0-9a-z]+-[0-9a-z]+"$/);
  assert.equal(field(answer.head, 'accept-ranges'), 'bytes');
  assert.equal(field(answer.head, 'x-content-type-options'), 'nosniff');
  using client = new Http2Client(proxy);
  assert.equal((await client.request({ ':path': '/big.bin' })).body.length, 3_000_000);
  assert.equal((await ask('/big.bin')).body.length, 3_000_000);
  const head = await ask('/ten.bin', '', 'HEAD');
  assert.deepEqual([statusOf(head), field(head.head, 'content-length'), head.body], [200, '1000', '']);
  assert.equal((await ask('/empty.txt')).body, '');
  assert.equal((await ask('/a%20b%2520%C3%BC.txt')).body, 'odd');
});

test('any other method is answered with 405 and the allowed ones', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const answer = await ask('/page.html', method === 'OPTIONS' ? '' : 'Content-Length: 0\r\n', method);
    assert.equal(statusOf(answer), 405, method);
    assert.equal(field(answer.head, 'allow'), 'GET, HEAD');
  }
});

describe('no path leads out of the root', () => {
  const cases: readonly (readonly [target: string, ...statuses: number[]])[] = [
    ['/../secret', 404],
    ['/../../../../../../etc/passwd', 403],
    ['/docs/../../secret', 404],
    ['/%2e%2e/secret', 404],
    ['/%2E%2e/%2e%2E/etc/passwd', 403],
    ['/.%2e/secret', 404],
    ['/..%2fsecret', 404],
    ['/..%2Fsecret', 404],
    ['/%2e%2e%2fsecret', 404],
    ['/docs%2f..%2f..%2fsecret', 404],
    ['/%252e%252e/secret', 404],
    ['/..%252fsecret', 404],
    ['/%25252e%25252e%25252fsecret', 404],
    ['/..\\secret', 404],
    ['/..%5csecret', 404],
    ['/docs\\..\\..\\secret', 404],
    ['/%5c..%5c..%5cetc%5cpasswd', 404],
    ['/page.html%00', 400],
    ['/%00', 400],
    ['/page.html%00.png', 400],
    ['/..%00/secret', 404],
    ['/%', 400],
    ['/%2', 400],
    ['/%zz', 400],
    ['/%c0%ae%c0%ae/secret', 404],
    ['/%c0%ae%c0%ae%c0%afsecret', 404],
    ['/%e0%80%ae%e0%80%ae/secret', 404],
    ['/%uff0e%uff0e/secret', 400],
    ['/%ef%bc%8e%ef%bc%8e/secret', 404],
    ['/..;/secret', 404],
    ['/;/../secret', 404],
    ['/.../secret', 404],
    ['/....//secret', 404],
    ['/..././secret', 404],
    ['//../secret', 404],
    ['///etc/passwd', 403],
    ['//etc/passwd', 403],
    ['/etc/passwd', 403],
    ['/etc%2fpasswd', 404],
    ['/out', 403],
    ['/up/secret', 403],
    ['/up/www-other/secret', 403],
    ['/up/www/page.html', 200],
    ['/other/secret', 403],
    ['/other', 403],
    ['/up/', 403],
    ['/up/../../secret', 404],
    ['/env', 404],
    ['/.env', 404],
    ['/%2eenv', 404],
    ['/docs/../.env', 404],
    ['/.well-known/security.txt', 200],
    ['/link.html', 200],
    ['/loop', 403],
    ['/fifo', 403],
    ['/zero', 403],
    ['/page.html/', 404],
    ['/page.html/x', 404],
    [`/${'x'.repeat(300)}`, 404],
    [`/${'x/'.repeat(3_000)}`, 404],
    ['/proc/self/environ', 404],
    ['/file:///etc/passwd', 404],
    ['/~root/', 404],
  ];
  for (const [target, status] of cases)
    test(target.slice(0, 60), async () => {
      const answer = await ask(target);
      assert.ok(!answer.body.includes(SECRET) && !answer.body.includes('root:'), answer.body);
      assert.equal(statusOf(answer), status);
    });
});

test('a link that is switched all the time never leads out of the root', async () => {
  const name = path.join(root, 'switched');
  const next = path.join(root, 'next');
  let switching = true;
  const switcher = (async () => {
    for (let at = 0; switching; at++) {
      await fs.promises.symlink(at % 2 === 0 ? 'page.html' : '../secret', next);
      await fs.promises.rename(next, name);
    }
  })();
  await eventually('the link to exist', () => fs.existsSync(name));
  const seen = new Set<number>();
  for (let at = 0; at < 300; at++) {
    const answer = await ask('/switched');
    seen.add(statusOf(answer));
    assert.ok(!answer.body.includes(SECRET));
  }
  switching = false;
  await switcher;
  fs.rmSync(name);
  assert.ok(
    [...seen].every((status) => status === 200 || status === 403),
    [...seen].join(),
  );
});

test('a range is answered with 206, several with multipart/byteranges', async () => {
  const cases: readonly (readonly [range: string, status: number, contentRange: string | null, body: string])[] = [
    ['bytes=0-9', 206, 'bytes 0-9/1000', '0123456789'],
    ['bytes=995-', 206, 'bytes 995-999/1000', '56789'],
    ['bytes=-3', 206, 'bytes 997-999/1000', '789'],
    ['bytes=998-5000', 206, 'bytes 998-999/1000', '89'],
    // What clients in Java send for the rest.
    ['bytes=998-9223372036854775806', 206, 'bytes 998-999/1000', '89'],
    ['bytes=-5000', 206, 'bytes 0-999/1000', BYTES.toString()],
    ['Bytes=0-0', 206, 'bytes 0-0/1000', '0'],
    ['bytes=2000-', 416, 'bytes */1000', ''],
    ['bytes=-0', 416, 'bytes */1000', ''],
    ['bytes=9-0', 200, null, BYTES.toString()],
    ['bytes=a-b', 200, null, BYTES.toString()],
    ['lines=0-9', 200, null, BYTES.toString()],
    ['bytes=0-9,5-20', 200, null, BYTES.toString()],
    [`bytes=${Array.from({ length: 33 }, (_, at) => `${at * 2}-${at * 2}`).join()}`, 200, null, BYTES.toString()],
    ['bytes=99999999999999999999-', 200, null, BYTES.toString()],
  ];
  for (const [range, status, contentRange, body] of cases) {
    const answer = await ask('/ten.bin', `Range: ${range}\r\n`);
    assert.equal(statusOf(answer), status, range);
    assert.equal(field(answer.head, 'content-range'), contentRange, range);
    if (status !== 416) assert.equal(answer.body, body, range);
  }
  const several = await ask('/ten.bin', 'Range: bytes=0-1, 10-12,-1\r\n');
  assert.equal(statusOf(several), 206);
  const [, boundary = ''] = /^multipart\/byteranges; boundary=(\S+)$/.exec(field(several.head, 'content-type') ?? '') ?? [];
  const parts = [
    ['0-1', '01'],
    ['10-12', '012'],
    ['999-999', '9'],
  ].map(([at, body]) => `\r\n--${boundary}\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes ${at}/1000\r\n\r\n${body}`);
  assert.equal(several.body, `${parts.join('')}\r\n--${boundary}--\r\n`);
});

test('conditions of a request have the precedence of RFC 9110', async () => {
  const { head } = await ask('/ten.bin');
  const etag = field(head, 'etag') ?? '';
  const date = field(head, 'last-modified') ?? '';
  const earlier = 'Wed, 01 Jan 2020 00:00:00 GMT';
  const later = 'Sat, 04 Jan 2020 00:00:00 GMT';
  const cases: readonly (readonly [fields: string, status: number])[] = [
    [`If-None-Match: ${etag}`, 304],
    [`If-None-Match: "x, y", W/${etag}`, 304],
    ['If-None-Match: *', 304],
    [`If-None-Match: "x"\r\nIf-Modified-Since: ${later}`, 200],
    [`If-Modified-Since: ${date}`, 304],
    [`If-Modified-Since: ${later}`, 304],
    [`If-Modified-Since: ${earlier}`, 200],
    ['If-Modified-Since: soon', 200],
    ['If-Modified-Since: Thursday, 02-Jan-20 03:04:05 GMT', 304],
    ['If-Modified-Since: Thu Jan  2 03:04:04 2020', 200],
    ['If-Modified-Since: Thu Jan  2 03:04:05 2020', 304],
    [`If-Match: ${etag}`, 200],
    [`If-Match: W/${etag}`, 412],
    ['If-Match: *', 200],
    ['If-Match: "x"', 412],
    [`If-Match: "x"\r\nIf-None-Match: ${etag}`, 412],
    [`If-Unmodified-Since: ${earlier}`, 412],
    [`If-Unmodified-Since: ${date}`, 200],
    [`If-Match: ${etag}\r\nIf-Unmodified-Since: ${earlier}`, 200],
    [`Range: bytes=0-0\r\nIf-Range: ${etag}`, 206],
    ['Range: bytes=0-0\r\nIf-Range: "x"', 200],
    [`Range: bytes=0-0\r\nIf-Range: W/${etag}`, 200],
    [`Range: bytes=0-0\r\nIf-Range: ${date}`, 206],
    [`Range: bytes=0-0\r\nIf-Range: ${later}`, 200],
    [`Range: bytes=0-0\r\nIf-None-Match: ${etag}`, 304],
    [`Range: bytes=5000-\r\nIf-Range: "x"`, 200],
  ];
  for (const [fields, status] of cases) {
    const answer = await ask('/ten.bin', `${fields}\r\n`);
    assert.equal(statusOf(answer), status, fields);
    // A browser replaces the fields of what it has stored by those of a 304.
    if (status === 304)
      assert.deepEqual(
        ['etag', 'last-modified', 'content-type', 'content-length'].map((name) => field(answer.head, name)),
        [etag, date, null, null],
      );
  }
});

test('the ETag of a file that has just been written is weak', async () => {
  fs.writeFileSync(path.join(root, 'new.txt'), 'new');
  const { head } = await ask('/new.txt');
  assert.match(field(head, 'etag') ?? '', /^W\/"/);
  assert.equal(statusOf(await ask('/new.txt', `If-None-Match: ${field(head, 'etag')}\r\n`)), 304);
  assert.equal(statusOf(await ask('/new.txt', `Range: bytes=0-0\r\nIf-Range: ${field(head, 'last-modified')}\r\n`)), 200);
});

test('a file whose time a build tool has set, the same for all files, is not mistaken for the one that it replaces', async () => {
  // Tools for images and packages use 1970, 1980 or 1985, or the beginning of 2000 or 2023, also of Tokyo, Berlin or Delhi.
  for (const time of [0, 1, 315_532_801, 499_162_500, 946_684_800, 1_672_560_000, 946_652_400, 946_681_200, 1_672_511_400]) {
    const replace = (content: string) => {
      fs.writeFileSync(path.join(root, 'built.html.new'), content);
      fs.utimesSync(path.join(root, 'built.html.new'), time, time);
      fs.renameSync(path.join(root, 'built.html.new'), path.join(root, 'built.html'));
      return fs.statSync(path.join(root, 'built.html'), { bigint: true }).ctimeNs;
    };
    const first = replace('app-1a.js');
    const { head } = await ask('/built.html');
    const known = `If-None-Match: ${field(head, 'etag')}\r\nIf-Modified-Since: ${field(head, 'last-modified')}\r\n`;
    assert.equal(statusOf(await ask('/built.html', known)), 304);
    await eventually('a new time of the file system', () => replace('app-2b.js') !== first);
    assert.equal((await ask('/built.html', known)).body, 'app-2b.js');
    assert.notEqual(Date.parse(field(head, 'last-modified') ?? ''), 1_000 * time);
  }
});

test('a directory has its index, and is redirected to its slash without naming a host', async () => {
  assert.equal((await ask('/docs/')).body, 'the docs');
  const redirect = await ask('/docs?a=b');
  assert.deepEqual([statusOf(redirect), field(redirect.head, 'location')], [308, '/docs/?a=b']);
  assert.equal(field((await ask('//docs')).head, 'location'), '/docs/');
  assert.equal(field((await ask('//evil.test/%2e%2e/docs')).head, 'location'), '/docs/');
  assert.equal(statusOf(await ask('//evil.test')), 404);
  assert.equal(statusOf(await ask('/bare/')), 404);
});

test('browse lists a directory with escaped names, directories first, and no hidden names', async () => {
  write('list/b10.txt', 'x'.repeat(1_500));
  write('list/b9.txt', '');
  write('list/<img src=x onerror=alert(1)>', '');
  write('list/javascript:alert(1)', '');
  write('list/.hidden', '');
  write('list/old.bak', '');
  write('list/inner/x', '');
  fs.symlinkSync('/etc/passwd', path.join(root, 'list/passwd'));
  using listing = await ProxyFixture.start([route({ file_server: { browse: true, hide: ['*.bak'] } })]);
  const answer = await ask('/list/', '', 'GET', listing);
  assert.equal(field(answer.head, 'content-type'), 'text/html; charset=utf-8');
  const links = [...answer.body.matchAll(/href="([^"]*)"/g)].map(([, link]) => link);
  assert.deepEqual(links, [
    '../',
    './inner/',
    './%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E',
    './b9.txt',
    './b10.txt',
    './javascript%3Aalert(1)',
    './passwd',
  ]);
  assert.ok(!answer.body.includes('<img') && answer.body.includes('1.5 kB'));
  assert.equal(statusOf(await ask('/list/old.bak', '', 'GET', listing)), 404);
});

test('a large directory is listed in pages, by numbers in the names, and their links lead from one to the other', async () => {
  for (let at = 0; at < 2_100; at++) write(`many/n${at}`, '');
  write('many/d/x', '');
  using listing = await ProxyFixture.start([route({ file_server: { browse: true } })]);
  const page = async (query: string) => {
    const { body } = await ask(`/many/${query}`, '', 'GET', listing);
    const links = [...body.matchAll(/href="([^"]*)"/g)].map(([, link]) => link);
    return { names: links.filter((link) => link?.startsWith('./')), others: new Set(links.filter((link) => link?.startsWith('?'))), body };
  };
  const first = await page('');
  assert.deepEqual(first.names.slice(0, 3), ['./d/', './n0', './n1']);
  assert.equal(first.names.length, 1_000);
  assert.deepEqual([...first.others], ['?page=2', '?page=3']);
  assert.match(first.body, /Page 1 of 3, 2,101 names/);
  const last = await page('?a=b&page=3');
  assert.equal(last.names.at(-1), './n2099');
  assert.deepEqual([...last.others], ['?page=1', '?page=2']);
  assert.equal((await page('?page=2')).names[0], './n999');
  for (const odd of ['?page=0', '?page=', '?page=-1', '?page=x', '?page=1e3']) assert.equal((await page(odd)).names[1], './n0', odd);
  assert.equal((await page('?page=999999')).names.at(-1), './n2099');
});

test('a compressed file beside the original is served to clients that accept it', async () => {
  using compressed = await ProxyFixture.start([route({ file_server: { precompressed: ['zstd', 'br', 'gzip'] } })]);
  const cases = [
    ['zstd, br, gzip', 'br', 'brotli'],
    ['gzip', 'gzip', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip', 'gzip'],
    ['zstd', null, 'plain'],
    ['identity', null, 'plain'],
  ] as const;
  const etags = new Set<string | null>();
  for (const [accept, coding, body] of cases) {
    const answer = await ask('/app.js', `Accept-Encoding: ${accept}\r\n`, 'GET', compressed);
    assert.deepEqual([answer.body, field(answer.head, 'content-encoding')], [body, coding], accept);
    assert.equal(field(answer.head, 'vary'), 'Accept-Encoding');
    assert.equal(field(answer.head, 'content-type'), 'text/javascript; charset=utf-8');
    etags.add(field(answer.head, 'etag'));
  }
  assert.equal(etags.size, 3);
});

test('try_files serves the first that exists', async () => {
  const tried = (try_files: string[], more: Partial<RouteInput> = {}) => ProxyFixture.start([route({ try_files, ...more })]);
  using app = await tried(['{path}', '/page.html']);
  assert.match((await ask('/some/view', '', 'GET', app)).body, /^<p>/);
  assert.equal((await ask('/app.js', '', 'GET', app)).body, 'plain');
  assert.match((await ask('/docs', '', 'GET', app)).body, /^<p>/, 'a directory is no file');
  assert.equal(statusOf(await ask('/out', '', 'GET', app)), 403);
  assert.equal(statusOf(await ask('/%00', '', 'GET', app)), 400);
  using pages = await tried(['{path}.html', '{path}/', '=410']);
  assert.match((await ask('/page', '', 'GET', pages)).body, /^<p>/);
  assert.equal((await ask('/docs/', '', 'GET', pages)).body, 'the docs');
  assert.equal(field((await ask('/docs', '', 'GET', pages)).head, 'location'), '/docs/');
  assert.equal(statusOf(await ask('/none', '', 'GET', pages)), 410);
});

test('the other files are tried for a path that no file can have, such as a view of an app with an escaped slash or a long token', async () => {
  const tried = (...try_files: string[]) => ProxyFixture.start([route({ try_files })]);
  const paths = ['/projects/a%2Fb', '/a%5Cb', `/verify/${'x'.repeat(300)}`, '/%ff', '/docs%2F', '/..%2Fsecret'];
  using app = await tried('{path}', '/page.html');
  for (const one of paths) assert.match((await ask(one, '', 'GET', app)).body, /^<p>/, one);
  using directory = await tried('{path}/', '/docs/');
  for (const one of paths) assert.equal((await ask(one, '', 'GET', directory)).body, 'the docs', one);
  using gone = await tried('{path}', '=410');
  using none = await tried('{path}', '{path}.html');
  for (const one of paths)
    assert.deepEqual([statusOf(await ask(one, '', 'GET', gone)), statusOf(await ask(one, '', 'GET', none))], [410, 404]);
});

test('a directory exists for try_files if it has an index file or is listed, and if nothing else does, its slash is added', async () => {
  const tried = (try_files: string[], more: Partial<RouteInput> = {}) => ProxyFixture.start([route({ try_files, ...more })]);
  using app = await tried(['{path}', '{path}/', '/page.html']);
  for (const target of ['/bare/', '/bare']) assert.match((await ask(target, '', 'GET', app)).body, /^<p>/, target);
  assert.equal((await ask('/docs/', '', 'GET', app)).body, 'the docs');
  using pages = await tried(['{path}', '{path}.html']);
  assert.match((await ask('/page', '', 'GET', pages)).body, /^<p>/);
  assert.equal(field((await ask('/docs?a=b', '', 'GET', pages)).head, 'location'), '/docs/?a=b');
  assert.equal((await ask('/docs/', '', 'GET', pages)).body, 'the docs');
  for (const target of ['/bare', '/bare/', '/app.js/', '/none']) assert.equal(statusOf(await ask(target, '', 'GET', pages)), 404, target);
  using listed = await tried(['{path}', '{path}.html'], { file_server: { browse: true } });
  assert.equal(field((await ask('/bare', '', 'GET', listed)).head, 'location'), '/bare/');
  assert.match((await ask('/bare/', '', 'GET', listed)).body, /inner\.txt/);
  using others = await tried(['/none.html']);
  assert.equal(statusOf(await ask('/docs', '', 'GET', others)), 404);
});

test('a directory that try_files names in the place of the requested file has its index file served, without a slash', async () => {
  using app = await ProxyFixture.start([route({ try_files: ['{path}', '/docs/'] })]);
  for (const target of ['/some/view', '/some/view/', '/bare']) {
    const { line, body } = await ask(target, '', 'GET', app);
    assert.deepEqual([line, body], ['HTTP/1.1 200 OK', 'the docs'], target);
  }
  using own = await ProxyFixture.start([route({ try_files: ['/docs/'] })]);
  assert.equal(field((await ask('/docs', '', 'GET', own)).head, 'location'), '/docs/');
});

test('the index file of a directory that the site has written in the place of the requested path is served, with no redirect to a path that is not rewritten', async () => {
  using app = await ProxyFixture.start([
    route({
      rewrites: [
        { from: '/manual', to: '/docs/' },
        { from: '/home', to: '/' },
        { from: '/short', to: '/docs' },
        { from: '/old/*', to: '/{remainder}' },
        { from: '/nothing', to: '/bare/' },
      ],
      file_server: { index: ['index.html', 'ten.bin'] },
      handles: [
        { path: '/tried/*', rewrites: [{ to: '/docs/' }], try_files: ['{path}', '/page.html'] },
        { path: '/only/*', rewrites: [{ to: '/docs' }], try_files: ['{path}'] },
        { path: '/list/*', rewrites: [{ to: '/bare/' }], file_server: { browse: true } },
        { path: '/app/*', strip_prefix: true },
        { path: '/sub*', uri: [{ strip_prefix: '/sub' }] },
        { path: '/index/*', uri: [{ strip_prefix: '/index' }, { strip_suffix: 'index.html' }] },
      ],
    }),
  ]);
  for (const [target, expected] of [
    ['/manual', 'the docs'],
    ['/manual?a', 'the docs'],
    ['/short', 'the docs'],
    ['/tried/a', 'the docs'],
    ['/only/a', 'the docs'],
    ['/index/docs/index.html', 'the docs'],
    ['/home', BYTES.toString()],
  ] as const) {
    const { line, body } = await ask(target, '', 'GET', app);
    assert.deepEqual([line, body], ['HTTP/1.1 200 OK', expected], target);
  }
  assert.equal(statusOf(await ask('/nothing', '', 'GET', app)), 404);
  // The links of a list need the slash, and so do those of a page whose path has lost no more than its prefix.
  for (const target of ['/list/a', '/old/docs', '/app/docs', '/sub', '/sub/docs'])
    assert.equal(field((await ask(target, '', 'GET', app)).head, 'location'), `${target}/`);
});

test('a block has its own root, its own status, or the file server of its site', async () => {
  using blocks = await ProxyFixture.start([
    route({
      handles: [
        { path: '/docs-of/*', strip_prefix: true, root: path.join(root, 'docs') },
        { path: '/error/*', strip_prefix: true, file_server: { status: 404 } },
        { path: '/fixed', respond: { status: 200, body: 'fixed' } },
      ],
    }),
  ]);
  assert.equal((await ask('/docs-of/index.html', '', 'GET', blocks)).body, 'the docs');
  assert.equal(statusOf(await ask('/docs-of/../../secret', '', 'GET', blocks)), 400);
  const error = await ask('/error/page.html', 'Range: bytes=0-0\r\nIf-None-Match: *\r\n', 'GET', blocks);
  assert.deepEqual([statusOf(error), error.body.length], [404, 13]);
  assert.equal((await ask('/fixed', '', 'GET', blocks)).body, 'fixed');
  assert.equal((await ask('/app.js', '', 'GET', blocks)).body, 'plain');
});

test('a root that does not exist is 503, and one that is switched is followed', async () => {
  const current = path.join(base, 'current');
  using switched = await ProxyFixture.start([route({ root: current })]);
  assert.equal(statusOf(await ask('/app.js', '', 'GET', switched)), 503);
  assert.equal(switched.dryRun('http://a.test/app.js').verdict, `answered by file_server: files of ${current}`);
  fs.symlinkSync(root, current);
  assert.equal((await ask('/app.js', '', 'GET', switched)).body, 'plain');
});

const openFiles = (name: string): number =>
  fs.readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(path.join(root, name));
    } catch {
      return false;
    }
  }).length;

test('a client that leaves releases the file, and no descriptor stays open', { skip: process.platform !== 'linux' }, async () => {
  write('huge.bin', Buffer.alloc(30_000_000, 'x'));
  const clients = await Promise.all(Array.from({ length: 5 }, () => proxy.connect()));
  for (const client of clients) {
    client.socket.pause();
    client.send('GET /huge.bin HTTP/1.1\r\nHost: a.test\r\n\r\n');
  }
  await eventually('the files to be open', () => openFiles('huge.bin') >= 5);
  for (const client of clients) client.reset();
  await eventually('the files to be closed', () => openFiles('') === 0);
});

test('a file that becomes shorter while it is sent breaks its response off', async () => {
  write('shrinking.bin', Buffer.alloc(30_000_000, 'x'));
  const client = await proxy.connect();
  client.send('GET /shrinking.bin HTTP/1.1\r\nHost: a.test\r\n\r\n');
  await client.until('the response to begin', () => client.total > 0);
  client.socket.pause();
  fs.truncateSync(path.join(root, 'shrinking.bin'), 0);
  client.socket.resume();
  await client.until('the end of the connection', () => client.ended || client.closed);
  assert.ok(client.total < 30_000_000);
});

test('pages of files go through the filters of their block', async () => {
  write('long.txt', 'the same line\n'.repeat(10_000));
  using encoding = await ProxyFixture.start([route({ encode: { formats: [{ name: 'gzip' }] } })]);
  const answer = await ask('/long.txt', 'Accept-Encoding: gzip\r\n', 'GET', encoding);
  assert.equal(field(answer.head, 'content-encoding'), 'gzip');
  assert.match(field(answer.head, 'etag') ?? '', /^W\//);
  assert.ok(answer.body.length < 10_000);
});
