// Runs alone: it replaces functions of node:fs for every caller.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, mock, test } from 'node:test';
import type { RouteInput } from '../../../../shared/route.ts';
import { CODE, FRAME, Frames, head, INITIAL_WINDOW } from '../../testing/http2/frames.ts';
import { OddDisk, openBelow, openDirectories } from '../../testing/odd-disk.ts';
import { eventually, get, ProxyFixture } from '../../testing/proxy/test-proxy.ts';

let root: string;

before(() => {
  root = fs.mkdtempSync(path.join(os.tmpdir(), 'open-files-'));
  fs.writeFileSync(path.join(root, 'large.bin'), Buffer.alloc(1_000_000));
  fs.writeFileSync(path.join(root, 'small.txt'), 'small');
});
after(() => fs.rmSync(root, { recursive: true }));

const files = (): RouteInput => ({ domain: 'a.test', upstream: null, tls: false, root, file_server: {} });

test('clients that read nothing keep at most half of the descriptors open with files, and others are served', async () => {
  using proxy = await ProxyFixture.with([files()], { maxSockets: 40 });
  using silent = await Frames.plain(proxy.port);
  // A window of nothing: responses can begin, and their bodies wait.
  silent.greet([INITIAL_WINDOW, 0]);
  const streams = Array.from({ length: 30 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) silent.request(stream, head([':scheme', 'http'], [':path', '/large.bin']));
  await silent.until('all responses', () => silent.received.filter(({ type }) => type === FRAME.headers).length === streams.length);
  const { connections } = proxy.ledger;
  assert.equal(connections.sockets() - connections.open(), 20);
  assert.equal((await proxy.request(get('/small.txt'))).body, 'small');
  assert.match((await proxy.request(get('/large.bin'))).line, / 503 /);
  silent[Symbol.dispose]();
  await eventually('their files to be closed', () => connections.sockets() === connections.open());
  assert.equal((await proxy.request(get('/large.bin'))).body.length, 1_000_000);
  assert.match((await proxy.request('HEAD /large.bin HTTP/1.1\r\nHost: a.test\r\n\r\n')).line, / 200 /);
  assert.equal(connections.sockets(), connections.open());
});

test('any number of requests for small files keep only a few descriptors open', async () => {
  using proxy = await ProxyFixture.with([files()], { maxSockets: 40 });
  using many = await Frames.plain(proxy.port);
  let most = 0;
  const { fstat } = fs;
  const counted = mock.method(fs, 'fstat', ((...args: Parameters<typeof fs.fstat>) => {
    most = Math.max(most, openBelow(root));
    fstat(...args);
  }) as typeof fs.fstat);
  many.greet();
  const streams = Array.from({ length: 100 }, (_, nth) => 2 * nth + 1);
  for (const stream of streams) many.request(stream, head([':scheme', 'http'], [':path', '/small.txt']));
  await many.until('all responses', () => streams.every((stream) => many.status(stream) === 200));
  counted.mock.restore();
  assert.ok(most > 0 && most <= 12, `${most} open`);
});

test('requests for lists of names keep at most half of the descriptors open, like files that are being sent', async () => {
  using proxy = await ProxyFixture.with([{ ...files(), file_server: { browse: true } }], { maxSockets: 40 });
  using many = await Frames.plain(proxy.port);
  many.greet();
  const streams = Array.from({ length: 30 }, (_, nth) => 2 * nth + 1);
  {
    using disk = new OddDisk();
    disk.hangReads();
    for (const stream of streams) many.request(stream, head([':scheme', 'http'], [':path', '/']));
    await many.until('those beyond to be refused', () => streams.filter((stream) => many.status(stream) !== undefined).length === 10);
    assert.ok(openDirectories(root) <= 22, `${openDirectories(root)} open`);
  }
  await many.until('all responses', () => streams.every((stream) => many.status(stream) !== undefined));
  const { connections } = proxy.ledger;
  assert.equal(connections.sockets(), connections.open());
  assert.equal((await proxy.request(get('/large.bin'))).body.length, 1_000_000);
});

test('a list that is requested many times is made once for all that wait for it', async () => {
  using proxy = await ProxyFixture.start([{ ...files(), file_server: { browse: true } }]);
  using many = await Frames.plain(proxy.port);
  many.greet();
  many.send(FRAME.windowUpdate, 0, 0, Buffer.from([0, 16, 0, 0]));
  const streams = Array.from({ length: 100 }, (_, nth) => 2 * nth + 1);
  const opened = mock.method(fs, 'opendir');
  try {
    for (const stream of streams) many.request(stream, head([':scheme', 'http'], [':path', `/?page=${stream}`]));
    // Some leave, also the first ones.
    for (const stream of streams.slice(0, 20)) many.send(FRAME.reset, 0, stream, Buffer.from([0, 0, 0, CODE.cancel]));
    const bodyOf = (stream: number) => Buffer.concat(many.of(stream, FRAME.data).map(({ payload }) => payload));
    await many.until('all lists', () => streams.slice(20).every((stream) => bodyOf(stream).includes('small.txt')));
    assert.ok(opened.mock.callCount() <= 20, `${opened.mock.callCount()} times`);
  } finally {
    opened.mock.restore();
  }
  assert.equal(proxy.ledger.connections.sockets(), proxy.ledger.connections.open());
});
