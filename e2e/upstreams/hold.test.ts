import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';
import { freePort } from '../testing/ports.ts';
import { Upstream } from '../testing/upstream.ts';

describe('a site with hold', () => {
  const folder = new Folder();
  let dataplane: Dataplane;

  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.file('state') });
  });
  after(async () => {
    await dataplane[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const underWay = (count: number) =>
    until('the requests to wait', async () =>
      (await dataplane.admin('GET', '/metrics')).text.includes(`sluice_requests_in_flight ${count}\n`),
    );

  test('releases requests without a target when a change adds one', async () => {
    await dataplane.route('swap.test', '127.0.0.1:1', { upstreams: [{ address: '127.0.0.1:1', state: 'starting' }], hold_secs: 30 });
    const explained = JSON.parse((await dataplane.admin('GET', '/explain?url=swap.test')).text) as { verdict: string };
    assert.equal(explained.verdict, '503 after 30 s: no target of the pool is in rotation; 127.0.0.1:1: its source says starting');
    const waiting = Promise.all(Array.from({ length: 8 }, () => dataplane.visit('swap.test', '/', { method: 'POST', body: 'kept' })));
    await underWay(8);
    await using upstream = await Upstream.start('new', (_, response) => response.end('new'));
    await dataplane.route('swap.test', upstream.address, { hold_secs: 30 });
    for (const { status, text } of await waiting) assert.deepEqual([status, text], [200, 'new']);
  });

  test('releases requests whose target refused when it accepts connections', async () => {
    const port = await freePort();
    await dataplane.route('restart.test', `127.0.0.1:${port}`, { hold_secs: 30 });
    const waiting = Promise.all(Array.from({ length: 8 }, () => dataplane.visit('restart.test')));
    await underWay(8);
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 4\r\n\r\nback'));
    });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    for (const { status, text } of await waiting) assert.deepEqual([status, text], [200, 'back']);
    server.close();
  });

  test('responds when the hold time is over', async () => {
    await dataplane.route('over.test', `127.0.0.1:${await freePort()}`, { hold_secs: 1 });
    const began = performance.now();
    assert.equal((await dataplane.visit('over.test')).status, 502);
    assert.ok(performance.now() - began >= 900);
  });

  test('rejects an invalid hold time', async () => {
    for (const hold_secs of [-1, 301, 1.5, '10s']) {
      const { status } = await dataplane.admin('POST', '/routes', { domain: 'bad.test', upstream: '127.0.0.1:1', tls: false, hold_secs });
      assert.equal(status, 400, String(hold_secs));
    }
  });
});
