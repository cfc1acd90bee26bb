// Runs alone: it replaces functions of node:fs for every caller.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, mock, test } from 'node:test';
import { get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field, type Message } from '../../testing/wire.ts';

const OLD = new Date('2020-01-02T03:04:05Z');
const TMPFS = 0x0102_1994;
const NFS = 0x6969;
let base: string;
let root: string;
let proxy: ProxyFixture;

function write(name: string, content: string, at = OLD): void {
  fs.writeFileSync(path.join(root, name), content);
  fs.utimesSync(path.join(root, name), at, at);
}

before(async () => {
  base = fs.mkdtempSync(path.join(os.tmpdir(), 'hot-files-'));
  root = path.join(base, 'www');
  fs.mkdirSync(root);
  fs.writeFileSync(path.join(base, 'secret'), 'secret');
  proxy = await ProxyFixture.start([{ domain: 'a.test', upstream: null, tls: false, root, file_server: { precompressed: ['gzip'] } }]);
});
after(() => {
  proxy[Symbol.dispose]();
  fs.rmSync(base, { recursive: true });
});

/** The tests run on any file system. */
function onFileSystem(type: number): Disposable {
  const { mock: replaced } = mock.method(fs, 'statfs', ((_: string, done: (error: null, stats: object) => void) =>
    setImmediate(done, null, { type })) as never);
  return { [Symbol.dispose]: () => replaced.restore() };
}

/** The request's response, and how many files were opened for it. */
async function opened(target: string, fields = '', method = 'GET'): Promise<{ answer: Message; count: number }> {
  const spy = mock.method(fs, 'open');
  const answer = await proxy.request(get(target, fields).replace('GET', method));
  spy.mock.restore();
  return { answer, count: spy.mock.callCount() };
}
const shown = ({ line, body }: Message): string => `${line.slice(9, 12)} ${body}`;
const linux = { skip: process.platform !== 'linux' };

test('a small file is served from memory while it is the same, with ranges and conditions as from the disk', linux, async () => {
  using _ = onFileSystem(TMPFS);
  write('a.txt', '0123456789');
  write('index.html', 'home');
  const first = await opened('/a.txt');
  assert.equal(first.count, 2);
  const etag = field(first.answer.head, 'etag');
  for (const [fields, method] of [
    ['', 'GET'],
    ['', 'HEAD'],
    ['Range: bytes=2-4\r\n', 'GET'],
    ['Range: bytes=0-1,8-9\r\n', 'GET'],
    ['Range: bytes=10-\r\n', 'GET'],
    [`If-None-Match: ${etag}\r\n`, 'GET'],
    ['If-Match: "x"\r\n', 'GET'],
  ] as const) {
    const hot = await opened('/a.txt', fields, method);
    proxy.clock.pass(1_000);
    const cold = await opened('/a.txt', fields, method);
    const plain = ({ head, body }: Message): string => (head + body).replace(/boundary=.{24}|--[\w-]{24}|X-Request-ID.*|Date:.*/g, '');
    assert.equal(plain(hot.answer), plain(cold.answer));
    assert.deepEqual([hot.count, cold.count], [0, 2], fields);
    await opened('/a.txt');
  }
  await opened('/');
  const home = await opened('/?x');
  assert.deepEqual([shown(home.answer), home.count], ['200 home', 0]);
});

for (const [what, change, expected] of [
  ['changed', () => write('f.txt', 'NEW', new Date('2021-01-01')), '200 NEW'],
  [
    'changed without another time',
    () => {
      // The clock of a file system has ticks of some milliseconds.
      const changed = () => fs.statSync(path.join(root, 'f.txt'), { bigint: true }).ctimeNs;
      const before = changed();
      do write('f.txt', 'NEW');
      while (changed() === before);
    },
    '200 NEW',
  ],
  ['appended to', () => fs.appendFileSync(path.join(root, 'f.txt'), '+'), '200 old+'],
  ['truncated', () => fs.truncateSync(path.join(root, 'f.txt'), 1), '200 o'],
  ['deleted', () => fs.rmSync(path.join(root, 'f.txt')), /^404/],
  [
    'replaced',
    () => {
      write('g.txt', 'NEW');
      fs.renameSync(path.join(root, 'g.txt'), path.join(root, 'f.txt'));
    },
    '200 NEW',
  ],
  [
    'replaced by a link out of the root',
    () => {
      fs.rmSync(path.join(root, 'f.txt'));
      fs.symlinkSync('../secret', path.join(root, 'f.txt'));
    },
    /^403/,
  ],
] as const)
  test(`a file that is ${what} is noticed at once`, linux, async () => {
    using _ = onFileSystem(TMPFS);
    write('f.txt', 'old');
    for (let count = 0; count < 3; count++) assert.equal(shown(await proxy.request(get('/f.txt'))), '200 old');
    change();
    const seen = shown(await proxy.request(get('/f.txt')));
    if (typeof expected === 'string') assert.equal(seen, expected);
    else assert.match(seen, expected);
    fs.rmSync(path.join(root, 'f.txt'), { force: true });
  });

test('a file that takes precedence is noticed within a second', linux, async () => {
  using _ = onFileSystem(TMPFS);
  write('app.js', 'plain');
  const gzip = 'Accept-Encoding: gzip\r\n';
  for (let count = 0; count < 2; count++) assert.equal((await proxy.request(get('/app.js', gzip))).body, 'plain');
  write('app.js.gz', 'gzip');
  proxy.clock.pass(1_000);
  for (let count = 0; count < 2; count++) assert.equal((await proxy.request(get('/app.js', gzip))).body, 'gzip');
  assert.equal((await proxy.request(get('/app.js'))).body, 'plain');
});

test('files that are large, that have just been written or that are on a network file system are not kept', linux, async () => {
  {
    using _ = onFileSystem(TMPFS);
    write('large.bin', 'x'.repeat(65_537));
    write('fresh.txt', 'fresh', new Date(proxy.clock.now() - 1_000));
    for (const name of ['large.bin', 'fresh.txt']) for (const _ of [1, 2]) assert.equal((await opened(`/${name}`)).count, 2, name);
  }
  proxy.clock.pass(60_000);
  using _ = onFileSystem(NFS);
  write('remote.txt', 'remote');
  for (const _ of [1, 2]) assert.equal((await opened('/remote.txt')).count, 2);
});

test('many files take no more memory than a worker may use for them', linux, async () => {
  proxy.clock.pass(60_000);
  using _ = onFileSystem(TMPFS);
  for (let at = 0; at < 140; at++) {
    write(`many${at}`, 'x'.repeat(65_536));
    await proxy.request(get(`/many${at}`));
  }
  assert.equal((await opened('/many139')).count, 0);
  assert.equal((await opened('/many0')).count, 2);
});
