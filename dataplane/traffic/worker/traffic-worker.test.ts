import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RouteInput } from '../../../shared/route.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { ManualClock } from '../../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../../shared/runtime/testing/memory-log.ts';
import { createLedger } from '../../ledger/ledger.ts';
import type { FromWorker } from '../protocol.ts';
import { get, ProxyFixture, publication, SETTINGS } from '../testing/proxy/test-proxy.ts';
import { Wire } from '../testing/wire.ts';
import { TrafficWorker } from './traffic-worker.ts';

const ROUTES = 20_000;

const saying = (domain: string, body: string): RouteInput => ({ domain, upstream: null, tls: false, respond: { status: 200, body } });
const many = (body: string): RouteInput[] => Array.from({ length: ROUTES }, (_, at) => saying(`site-${at}.test`, body));
const asking = (domain: string): string => get().replace('a.test', domain);

test('changes published while a worker starts are in effect when it serves', async () => {
  const messages: FromWorker[] = [];
  const worker = new TrafficWorker({
    start: {
      worker: 1,
      slot: 0,
      ledger: createLedger(1).buffers,
      hashKey: Buffer.alloc(16),
      countries: null,
      listenersFrom: null,
      memoryBytes: Number.POSITIVE_INFINITY,
      state: { generation: 1, routes: publication(many('old'), true), settings: SETTINGS },
    },
    clock: new ManualClock(),
    random: systemRandom,
    log: memoryLog(),
    post: (message) => messages.push(message),
  });
  const started = worker.start();
  worker.handle({ kind: 'publish', publication: { generation: 2, routes: publication([saying('site-0.test', 'new')], false) } });
  await started;
  while (!messages.some((message) => message.kind === 'acknowledged')) await nextTurn();
  const client = await Wire.to(worker.port);
  client.send(asking('site-0.test'));
  assert.equal((await client.readAnswer()).body, 'new');
  client.send(asking('site-1.test'));
  assert.equal((await client.readAnswer()).body, 'old');
  client.socket.destroy();
  worker.handle({ kind: 'drain', idleClose: 'now' });
});

test('a swap of 20,000 routes takes effect for all requests at once', async () => {
  using proxy = await ProxyFixture.start(many('1'));
  const client = await proxy.connect();
  const next = publication(many('2'), true);
  let swapped = false;
  const publishing = proxy.apply(next).then(() => {
    swapped = true;
  });
  const seen: string[] = [];
  while (!swapped) {
    client.send(asking('site-0.test') + asking(`site-${ROUTES - 1}.test`));
    seen.push((await client.readAnswer()).body + (await client.readAnswer()).body);
  }
  await publishing;
  client.send(asking('site-0.test') + asking(`site-${ROUTES - 1}.test`));
  seen.push((await client.readAnswer()).body + (await client.readAnswer()).body);
  assert.ok(seen.length > 2, `${seen.length} pairs of requests`);
  assert.deepEqual(seen, [...seen].sort(), 'first the old routes, then the new ones');
  assert.deepEqual([seen[0], seen.at(-1)], ['11', '22']);
  assert.ok(!seen.includes('21'), 'never a new route before an old one');
});
