import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { ask } from '../testing/http.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';

const MEMORY = ['--cache-size', '10mb'];
const DISK = [...MEMORY, '--cache-disk-size', '100mb'];
/** The probe port of the current data plane, whose requests are not limited. */
let probe = 0;

async function start(folder: Folder, flags: readonly string[], more: { httpPort?: number } = {}): Promise<Dataplane> {
  probe = await freePort();
  return Dataplane.start({ stateDir: folder.file('state'), flags: [...flags, '--probe-listen', `127.0.0.1:${probe}`], ...more });
}

const metric = async (name: string): Promise<number> =>
  Number(new RegExp(`^sluice_cache_${name} (\\S+)$`, 'm').exec((await ask({ port: probe }, '/metrics')).text)?.[1] ?? Number.NaN);

const untilMetric = (name: string, wanted: number) => until(`${name} to be ${wanted}`, async () => (await metric(name)) === wanted);

/** The files of all stored responses. */
const filesIn = (folder: Folder): string[] =>
  readdirSync(folder.file('state/cache/v1'), { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && one.name.length === 64)
    .map((one) => join(one.parentPath, one.name));

async function site() {
  const counted = { requests: 0 };
  const upstream = await Upstream.start('site', (request, response) => {
    counted.requests++;
    response.setHeader('cache-control', 'max-age=600');
    response.setHeader('cache-tag', request.url === '/b' ? 'second' : 'first');
    response.end(`${request.url} ${counted.requests}${'.'.repeat(300_000)}`);
  });
  return { upstream, counted };
}

const visit = async (dataplane: Dataplane, path: string) => {
  const { text, headers } = await dataplane.visit('shop.test', path);
  return {
    page: text.replaceAll('.', ''),
    length: text.length,
    age: Number(headers.age ?? Number.NaN),
    status: `${headers['cache-status']}`,
  };
};

test('stored responses survive a restart and kill -9, with their age, and purged ones do not come back', async () => {
  using folder = new Folder();
  const { upstream, counted } = await site();
  await using _ = upstream;
  const before = Date.now();
  {
    await using dataplane = await start(folder, DISK);
    await dataplane.route('shop.test', upstream.address, { cache: {} });
    for (const path of ['/a', '/b', '/c']) await visit(dataplane, path);
    await untilMetric('disk_entries', 3);
    const purged = await dataplane.admin('PURGE', '/cache?tag=second');
    assert.deepEqual(JSON.parse(purged.text), { purged: true, entries: 1 });
    assert.equal(filesIn(folder).length, 2, 'its file is gone when PURGE is answered');
  }
  {
    await using dataplane = await start(folder, DISK);
    await untilMetric('disk_entries', 2);
    assert.equal(await metric('entries'), 0, 'only what is wanted is read into memory');
    const page = await visit(dataplane, '/a');
    assert.equal(page.page, '/a 1');
    assert.equal(page.length, '/a 1'.length + 300_000);
    assert.match(page.status, /; hit; ttl=\d+$/);
    assert.ok(page.age >= 0 && page.age <= (Date.now() - before) / 1_000 + 1, `age ${page.age}`);
    assert.equal(await metric('disk_hits_total'), 1);
    assert.equal((await visit(dataplane, '/b')).page, '/b 4');
    await untilMetric('disk_entries', 3);
    await dataplane.program.kill('SIGKILL');
  }

  await using dataplane = await start(folder, DISK);
  await untilMetric('disk_entries', 3);
  for (const path of ['/a', '/b', '/c']) assert.match((await visit(dataplane, path)).status, /; hit;/);
  assert.equal(counted.requests, 4);

  await dataplane.visit('shop.test', '/a', { method: 'POST' });
  await until('the file of the changed page to be gone', () => filesIn(folder).length === 2);
  assert.equal((await dataplane.admin('PURGE', '/cache/shop.test/c')).status, 200);
});

test('a damaged file is not served, and files are deleted when the cache is no longer kept on disk', async () => {
  using folder = new Folder();
  const { upstream, counted } = await site();
  await using _ = upstream;
  {
    await using dataplane = await start(folder, DISK);
    await dataplane.route('shop.test', upstream.address, { cache: {} });
    await visit(dataplane, '/a');
    await untilMetric('disk_entries', 1);
  }
  const [file = ''] = filesIn(folder);
  const bytes = readFileSync(file);
  assert.ok(bytes.includes('GET') === false && bytes.includes('/a 1....'), 'the body is in clear');
  bytes[bytes.length - 1] = 0x20;
  writeFileSync(file, bytes);
  {
    await using dataplane = await start(folder, DISK);
    await untilMetric('disk_entries', 1);
    assert.equal((await visit(dataplane, '/a')).page, '/a 2');
    await untilMetric('disk_damaged_total', 1);
    await untilMetric('disk_entries', 1);
  }
  {
    await using _ = await start(folder, MEMORY);
    assert.ok(Number.isNaN(await metric('disk_entries')));
    await until('the files to be gone', () => !readdirSync(folder.file('state')).includes('cache'));
  }
  await using dataplane = await start(folder, DISK);
  assert.equal((await visit(dataplane, '/a')).page, '/a 3');
  assert.equal(counted.requests, 3);
});

test('a personal response is never on disk', async () => {
  using folder = new Folder();
  await using upstream = await Upstream.start('site', (request, response) => {
    response.setHeader('cache-control', request.url === '/private' ? 'private, max-age=600' : 'max-age=600');
    if (request.url === '/cookie') response.setHeader('set-cookie', 'session=secret');
    response.end('a secret');
  });
  await using dataplane = await start(folder, DISK);
  await dataplane.route('shop.test', upstream.address, { cache: {} });
  await dataplane.visit('shop.test', '/private');
  await dataplane.visit('shop.test', '/cookie');
  await dataplane.visit('shop.test', '/login', { headers: { cookie: 'session=1' } });
  await dataplane.visit('shop.test', '/basic', { headers: { authorization: 'Basic eDp5' } });
  await dataplane.visit('shop.test', '/public');
  await untilMetric('disk_entries', 1);
  assert.equal(filesIn(folder).length, 1);
  assert.ok(readFileSync(filesIn(folder)[0] as string).includes('/public'));
});

test('a successor answers from the files, and a request that the old process finishes later still removes what it changes', async () => {
  using folder = new Folder();
  const held: (() => void)[] = [];
  let requests = 0;
  await using upstream = await Upstream.start('site', (request, response) => {
    if (request.method === 'POST') return void held.push(() => response.end('changed'));
    response.setHeader('cache-control', 'max-age=600');
    response.end(`${request.url} ${++requests}`);
  });
  await using old = await start(folder, DISK);
  await old.route('shop.test', upstream.address, { cache: {} });
  for (const path of ['/a', '/b']) await old.visit('shop.test', path);
  await until('both files', () => filesIn(folder).length === 2);
  const posted = old.visit('shop.test', '/a', { method: 'POST' });
  await until('the request to be under way', () => held.length === 1);

  await using next = await start(folder, [...DISK, '--takeover'], { httpPort: old.httpPort });
  await old.program.said('draining');
  await untilMetric('disk_entries', 2);
  const { text, headers } = await next.visit('shop.test', '/b');
  assert.equal(text, '/b 2');
  assert.match(`${headers['cache-status']}`, /; hit;/);
  assert.equal((await next.visit('shop.test', '/a')).text, '/a 1');
  held[0]?.();
  assert.equal((await posted).text, 'changed');
  await until('the successor to request the changed page again', async () => (await next.visit('shop.test', '/a')).text === '/a 3');
  await old.program.exited;
  await until('both files', () => filesIn(folder).length === 2);
  assert.equal(requests, 3);
});
