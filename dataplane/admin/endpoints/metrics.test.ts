import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { RunningAdmin } from '../testing/running-admin.ts';

/** Metrics whose texts are numbered, and computed only when the test says so. */
class SlowMetrics {
  computed = 0;
  private readonly begun: { readonly nth: number; settle(error: Error | null): void }[] = [];

  text(): Promise<string> {
    const nth = ++this.computed;
    return new Promise((resolve, reject) => {
      this.begun.push({ nth, settle: (error) => (error === null ? resolve(`text ${nth}`) : reject(error)) });
    });
  }

  async next(error: Error | null = null): Promise<void> {
    while (this.begun.length === 0) await nextTurn();
    this.begun.shift()?.settle(error);
  }
}

/** @returns once the request has been sent. */
async function begin(api: RunningAdmin, path = '/metrics'): Promise<{ readonly answer: Promise<string> }> {
  const call = request({ host: '127.0.0.1', port: api.probePort, path, agent: false });
  const answer = once(call, 'response').then(async ([response]: IncomingMessage[]) =>
    response?.statusCode === 200 ? text(response) : `${response?.resume().statusCode}`,
  );
  call.end();
  await once(call, 'finish');
  return { answer };
}

/** Scrapes that have arrived. */
async function scrapes(api: RunningAdmin, count: number): Promise<Promise<string>[]> {
  const begun = await Promise.all(Array.from({ length: count }, () => begin(api)));
  // Connections are accepted and read in the order in which they were sent.
  await (await begin(api, '/health')).answer;
  return begun.map(({ answer }) => answer);
}

/** A scraper that leaves while its text, the `nth`, is computed. */
async function leave(api: RunningAdmin, metrics: SlowMetrics, nth: number): Promise<void> {
  const socket = connect(api.probePort, '127.0.0.1');
  socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
  while (metrics.computed < nth) await nextTurn();
  socket.destroy();
  await once(socket, 'close');
  // Connections are read in turn, also what says that they end.
  await (await begin(api, '/health')).answer;
  await metrics.next();
}

test('scrapes that arrive while metrics are computed share the next computation, so that each is newer than its request', async () => {
  const metrics = new SlowMetrics();
  await using api = await RunningAdmin.start({ metrics });
  const first = await scrapes(api, 1);
  const others = await scrapes(api, 50);
  assert.equal(metrics.computed, 1);
  await metrics.next();
  assert.deepEqual(await Promise.all(first), ['text 1']);
  await metrics.next();
  assert.deepEqual(await Promise.all(others), Array(50).fill('text 2'));
  const last = await scrapes(api, 1);
  await metrics.next();
  assert.deepEqual(await Promise.all(last), ['text 3']);
});

test('a computation that fails fails only the scrapes that share it', async () => {
  const metrics = new SlowMetrics();
  await using api = await RunningAdmin.start({ metrics });
  const first = await scrapes(api, 1);
  const others = await scrapes(api, 2);
  await metrics.next(new Error('no metrics'));
  assert.deepEqual(await Promise.all(first), ['500']);
  await metrics.next();
  assert.deepEqual(await Promise.all(others), ['text 2', 'text 2']);
});

for (const gone of [0, 10])
  test(`scrapers that read nothing have few texts in memory, and do not keep others from theirs, after ${gone} that left too early`, async () => {
    /** More than the buffers of a connection take. */
    const long = 'x'.repeat(16_777_216);
    let computed = 0;
    const metrics = new SlowMetrics();
    await using api = await RunningAdmin.start({
      metrics: { text: async () => (metrics.computed < gone ? metrics.text() : ++computed <= 10 ? long : 'short') },
    });
    for (let nth = 1; nth <= gone; nth++) await leave(api, metrics, nth);
    const idle: Socket[] = [];
    for (let nth = 0; nth < 10; nth++) {
      const socket = connect(api.probePort, '127.0.0.1').on('error', () => undefined);
      idle.push(socket);
      socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
      await once(socket, 'readable');
    }
    assert.equal(await (await begin(api)).answer, 'short');
    for (const socket of idle.slice(0, 2)) {
      socket.resume();
      await once(socket, 'close');
      assert.ok(socket.bytesRead < long.length, 'it was disconnected');
    }
    for (const socket of idle) socket.destroy();
  });
