import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { createLedger } from '../../ledger/ledger.ts';
import type { FromWorker, ToWorker, WorkerStart } from '../protocol.ts';
import { eventually, get, publication, SETTINGS } from '../testing/proxy/test-proxy.ts';
import { Wire } from '../testing/wire.ts';

/** Does what a library might do: it throws in a turn of its own and leaves a rejection unhandled, once the worker listens for both. */
const MISCHIEF = `process.on('newListener', (name) => {
  if (name === 'unhandledRejection') setImmediate(() => {
    Promise.reject(new Error('rejected by a library'));
    throw new Error('thrown by a library');
  });
});`;

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return address !== null && typeof address === 'object' ? address.port : 0;
}

/** A worker in its own thread, with one site. */
async function thread(preload: string) {
  const httpPort = await freePort();
  const routes = publication([{ domain: 'a.test', upstream: null, tls: false, respond: { status: 200, body: 'in' } }], true);
  const state = { generation: 1, routes, settings: { ...SETTINGS, httpPort } };
  const workerData: WorkerStart = {
    worker: 1,
    slot: 0,
    ledger: createLedger(1).buffers,
    hashKey: Buffer.alloc(16),
    countries: null,
    listenersFrom: null,
    memoryBytes: Number.POSITIVE_INFINITY,
    state,
  };
  const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(preload)}`];
  const worker = new Worker(new URL('./worker.ts', import.meta.url), { workerData, execArgv });
  const messages: FromWorker[] = [];
  worker.on('message', (message: FromWorker) => messages.push(message));
  await eventually('the worker to serve', () => messages.some(({ kind }) => kind === 'serving'));
  return { worker, messages, httpPort, [Symbol.asyncDispose]: async () => void (await worker.terminate()) };
}

const errors = (messages: readonly FromWorker[]): string =>
  messages.flatMap((message) => (message.kind === 'log' && message.level === 'error' ? JSON.stringify(message.fields) : [])).join('\n');

test('an uncaught exception or rejection of a library is logged and counted, and the worker keeps serving', async () => {
  await using under = await thread(MISCHIEF);
  const { messages, worker, httpPort } = under;
  await eventually('both in the log', () => errors(messages).split('\n').length === 2);
  assert.match(
    errors(messages),
    /"ended":"nothing".*thrown by a library[^\n]*\n.*rejected by a library|rejected by a library[^\n]*\n.*thrown by a library/,
  );
  const question: ToWorker = { kind: 'report', id: 7 };
  worker.postMessage(question);
  const counted = () =>
    messages
      .flatMap((message) => (message.kind === 'report' ? (message.report.faults ?? []) : []))
      .reduce((sum, [, count]) => sum + count, 0);
  await eventually('both to be counted', () => counted() === 2);
  const wire = await Wire.to(httpPort);
  wire.send(get());
  assert.equal((await wire.readAnswer()).body, 'in');
  wire.socket.destroy();
});

test('a worker that fails to apply a publication ends and reports the reason', async () => {
  await using under = await thread('');
  const { messages, worker } = under;
  const exited = once(worker, 'exit');
  const broken = { whole: true, packed: new SharedArrayBuffer(3), count: 5, removed: [] };
  const message: ToWorker = { kind: 'publish', publication: { generation: 2, routes: broken } };
  worker.postMessage(message);
  assert.deepEqual(await exited, [1]);
  assert.match(errors(messages), /"worker_ends":true/);
  assert.equal(
    messages.some((one) => one.kind === 'acknowledged'),
    false,
  );
});
