// Runs alone: it replaces functions of node:fs for every caller.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { Http2Client } from '../../testing/http2/upstream.ts';
import { OddDisk, openBelow, openDirectories, pathOf } from '../../testing/odd-disk.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';
import { field, type Message } from '../../testing/wire.ts';
import { LONGEST_MS } from './disk.ts';

/** More than the sockets of both sides hold. */
const SIZE = 16_000_000;
let base: string;
let root: string;
let proxy: ProxyFixture;

const fileServer = (domain: string, directory: string, more: Partial<RouteInput> = {}): RouteInput => ({
  domain,
  upstream: null,
  tls: false,
  root: directory,
  file_server: {},
  ...more,
});

before(async () => {
  base = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'hard-disks-')));
  root = path.join(base, 'www');
  fs.mkdirSync(path.join(root, 'list'), { recursive: true });
  fs.mkdirSync(path.join(base, 'other'));
  fs.writeFileSync(path.join(root, 'a.js'), 'plain');
  fs.writeFileSync(path.join(root, 'a.js.gz'), 'gzip');
  fs.writeFileSync(path.join(root, 'list/a'), '');
  fs.writeFileSync(path.join(base, 'other/b.txt'), 'other');
  proxy = await ProxyFixture.start([
    fileServer('a.test', root, { file_server: { browse: true, precompressed: ['gzip'] } }),
    fileServer('b.test', path.join(base, 'other')),
    fileServer('encoded.test', root, { encode: { formats: [{ name: 'gzip' }] } }),
  ]);
});

after(() => {
  proxy[Symbol.dispose]();
  fs.rmSync(base, { recursive: true });
});

const statusOf = ({ line }: Message): number => Number(line.slice(9, 12));
const below = (directory: string) => (of: string | number) => pathOf(of).startsWith(`${directory}/`);
const warnings = (reason: string) => proxy.log.lines.filter(({ level, message }) => level === 'warn' && message.includes(reason));

/** A large file, requested by a client that has received the beginning and reads no more. */
async function beingSent(name: string, host = 'a.test', fields = '') {
  fs.writeFileSync(path.join(root, name), Buffer.alloc(SIZE, 'x'));
  const client = await proxy.connect();
  client.send(`GET /${name} HTTP/1.1\r\nHost: ${host}\r\n${fields}\r\n`);
  const head = await client.readHead();
  client.socket.pause();
  return { client, head };
}

test('a file that grows while it is sent has the length that was announced', async () => {
  const { client, head } = await beingSent('growing');
  assert.equal(field(head, 'content-length'), String(SIZE));
  fs.appendFileSync(path.join(root, 'growing'), 'y'.repeat(100_000));
  client.socket.resume();
  assert.ok(!(await client.read(SIZE)).includes('y'));
  client.send(get('/a.js'));
  assert.equal((await client.readAnswer('GET')).body, 'plain', 'nothing follows the response on its connection');
});

test('a file that was opened before a deployment switches the root is served', async () => {
  const current = path.join(base, 'current');
  const [old, young] = [path.join(base, 'old'), path.join(base, 'young')];
  for (const version of [old, young]) {
    fs.mkdirSync(version);
    fs.writeFileSync(path.join(version, 'a.txt'), version);
  }
  fs.symlinkSync(old, current);
  using switched = await ProxyFixture.start([fileServer('a.test', current)]);
  using disk = new OddDisk();
  const ask = () => switched.request(get('/a.txt'));
  disk.hang('fstat', below(old));
  const first = ask();
  await eventually('the file to be open', () => disk.held === 1);
  fs.rmSync(current);
  fs.symlinkSync(young, current);
  // This one finds that the root has been switched.
  assert.equal((await ask()).body, young);
  disk.release();
  assert.equal((await first).body, old);
});

test('the new file is served if a deployment renames the root after the old one was opened', async () => {
  const [site, next] = [path.join(base, 'site'), path.join(base, 'next')];
  for (const version of [site, next]) {
    fs.mkdirSync(version);
    fs.writeFileSync(path.join(version, 'a.txt'), version);
  }
  using renamed = await ProxyFixture.start([fileServer('a.test', site)]);
  using disk = new OddDisk();
  disk.hang('fstat', (of) => below(site)(of) && fs.existsSync(next));
  const answer = renamed.request(get('/a.txt'));
  await eventually('the file to be open', () => disk.held === 1);
  fs.renameSync(site, path.join(base, 'before'));
  fs.renameSync(next, site);
  disk.release();
  assert.equal((await answer).body, next);
  await eventually('the files to be closed', () => openBelow(base) === 0);
});

for (const [what, change] of [
  ['deleted', (file: string) => fs.rmSync(file)],
  ['replaced', (file: string) => fs.renameSync(path.join(root, 'list/a'), file)],
] as const)
  test(`a file that is ${what} while it is sent is sent to its end`, async () => {
    const { client } = await beingSent(what);
    fs.writeFileSync(path.join(root, 'list/a'), 'y'.repeat(SIZE));
    change(path.join(root, what));
    client.socket.resume();
    assert.ok(!(await client.read(SIZE)).includes('y'));
  });

test('a file that is replaced all the time is always one version of it as a whole', async () => {
  const file = path.join(root, 'versions');
  let replacing = true;
  const replacer = (async () => {
    for (let at = 0; replacing; at++) {
      await fs.promises.writeFile(`${file}.new`, String(at % 10).repeat(1 + (at % 7) * 1_000));
      await fs.promises.rename(`${file}.new`, file);
    }
  })();
  await eventually('the first version', () => fs.existsSync(file));
  for (let count = 0; count < 200; count++) {
    const { line, head, body } = await proxy.request(get('/versions'));
    assert.equal(line, 'HTTP/1.1 200 OK');
    assert.equal(field(head, 'content-length'), String(body.length));
    assert.equal(body, body.charAt(0).repeat(body.length));
  }
  replacing = false;
  await replacer;
});

test('a file that becomes shorter cuts its response off, encoded or not, over HTTP/1.1 and HTTP/2, and is logged', async () => {
  for (const [host, fields] of [
    ['a.test', ''],
    ['encoded.test', 'Accept-Encoding: gzip\r\n'],
  ] as const) {
    const { client } = await beingSent('shorter.txt', host, fields);
    fs.truncateSync(path.join(root, 'shorter.txt'), 100_000);
    client.socket.resume();
    await client.until('the end', () => client.ended || client.closed);
    assert.ok(client.total < SIZE && !client.unread.endsWith('\r\n0\r\n\r\n'));
  }
  fs.writeFileSync(path.join(root, 'shorter.txt'), Buffer.alloc(SIZE, 'x'));
  using http2 = new Http2Client(proxy);
  const stream = http2.session.request({ ':authority': 'a.test', ':path': '/shorter.txt' });
  await once(stream, 'response');
  fs.truncateSync(path.join(root, 'shorter.txt'), 100_000);
  await assert.rejects(async () => {
    for await (const _ of stream);
  }, /INTERNAL_ERROR/);
  await eventually('the log', () => warnings('the file became shorter').length >= 3);
  await eventually('the files to be closed', () => openBelow(root) === 0);
});

test('a file that can’t be read to its end cuts its response off, and the log says so', async () => {
  const { client } = await beingSent('broken');
  using disk = new OddDisk();
  disk.fail('read', 'EIO', below(root));
  client.socket.resume();
  await client.until('the end', () => client.ended || client.closed);
  assert.ok(client.total < SIZE);
  await eventually('the log', () => warnings('could not be read to its end').length === 1);
  await eventually('the files to be closed', () => openBelow(root) === 0);
});

for (const [code, status] of [
  ['EACCES', 403],
  ['EMFILE', 503],
  ['ENFILE', 503],
  ['EIO', 503],
  ['ESTALE', 503],
] as const)
  test(`${code} is ${status}, closes every descriptor, and ends with its cause`, async () => {
    for (const isFailing of [
      (of: string | number) => below(root)(of),
      // What is open already can't be opened for reading.
      (of: string | number) => `${of}`.startsWith('/proc/self/fd/'),
    ]) {
      using disk = new OddDisk();
      disk.fail('open', code, isFailing);
      assert.equal(statusOf(await proxy.request(get('/a.js'))), status);
    }
    {
      using disk = new OddDisk();
      disk.fail('opendir', code, () => true);
      assert.equal(statusOf(await proxy.request(get('/list/'))), status);
    }
    await eventually('the files to be closed', () => openBelow(root) === 0);
    // The lines of a site are limited, so only the first cause is looked for.
    if (code === 'EMFILE') assert.match(warnings(code)[0]?.message ?? '', /no file descriptor left/);
    assert.equal(statusOf(await proxy.request(get('/a.js'))), 200);
    assert.equal(statusOf(await proxy.request(get('/list/'))), 200);
  });

test('a compressed file that can’t be opened is replaced by the original', async () => {
  using disk = new OddDisk();
  disk.fail('open', 'EMFILE', (of) => `${of}`.endsWith('.gz'));
  const answer = await proxy.request(get('/a.js', 'Accept-Encoding: gzip\r\n'));
  assert.deepEqual([answer.body, field(answer.head, 'content-encoding')], ['plain', null]);
});

test('a disk that hangs delays no other site, and its requests fail after 30 seconds and then at once', async () => {
  using disk = new OddDisk();
  disk.hang('fstat', below(root));
  const waiting = Array.from({ length: 20 }, () => proxy.request(get('/a.js')));
  await eventually('the disk to hang', () => disk.held === 2);
  const other = 'GET /b.txt HTTP/1.1\r\nHost: b.test\r\n\r\n';
  for (let count = 0; count < 20; count++) assert.equal((await proxy.request(other)).body, 'other');
  assert.equal(disk.held, 2, 'the rest waits for its turn');
  proxy.clock.pass(LONGEST_MS + 1_000);
  assert.deepEqual(new Set((await Promise.all(waiting)).map(statusOf)), new Set([503]));
  assert.equal(statusOf(await proxy.request(get('/a.js'))), 503);
  assert.equal((await proxy.request(other)).body, 'other');
  disk[Symbol.dispose]();
  await eventually('the files to be closed', () => openBelow(root) === 0);
  assert.equal((await proxy.request(get('/a.js'))).body, 'plain');
});

test('a disk that hangs in the middle of a file cuts the response off', async () => {
  const { client } = await beingSent('hanging');
  using disk = new OddDisk();
  disk.hang('read', below(root));
  client.socket.resume();
  await eventually('the disk to hang', () => disk.held === 1);
  proxy.clock.pass(LONGEST_MS + 1_000);
  await client.until('the end', () => client.ended || client.closed);
  assert.ok(client.total < SIZE);
  await eventually('the log', () => warnings('the disk stopped responding').length === 1);
  disk[Symbol.dispose]();
  await eventually('the files to be closed', () => openBelow(root) === 0);
});

test('a directory whose disk hangs while it is read is closed once the disk responds', async () => {
  {
    using disk = new OddDisk();
    disk.hangReads();
    const listing = proxy.request(get('/list/'));
    await eventually('the disk to hang', () => disk.held === 1);
    proxy.clock.pass(LONGEST_MS + 1_000);
    assert.equal(statusOf(await listing), 503);
  }
  await eventually('the directory to be closed', () => openDirectories(path.join(root, 'list')) === 0);
});

test('a client that leaves while the disk hangs leaves nothing open', async () => {
  using disk = new OddDisk();
  disk.hang('open', below(root));
  const clients = await Promise.all(Array.from({ length: 5 }, () => proxy.connect()));
  for (const client of clients) client.send(get('/a.js'));
  await eventually('the disk to hang', () => disk.held === 2);
  await eventually('all requests to arrive', () => proxy.ledger.inFlight.total() === clients.length);
  for (const client of clients) client.reset();
  await eventually('the clients to be gone', () => (proxy.counted().get('a.test')?.classes[5] ?? 0) >= 5);
  disk[Symbol.dispose]();
  await eventually('the files to be closed', () => openBelow(root) === 0);
  assert.equal((await proxy.request(get('/a.js'))).body, 'plain');
});
