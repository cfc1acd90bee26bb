import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { type NamedDescriptor, type PassedSockets, passSockets, receiveSockets } from './passed-sockets.ts';

/** Listens on some ports, and accepts nothing until it closes them. */
const BUSY_LISTENERS = `
  const { parentPort, workerData: { closing, count } } = require('node:worker_threads');
  const { createServer } = require('node:net');
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  Promise.all(servers.map((server) => new Promise((resolve) => server.once('listening', resolve)))).then(() => {
    parentPort.postMessage(servers.map((server) => ({ port: server.address().port, descriptor: server._handle.fd })));
    Atomics.wait(closing, 0, 0);
    for (const server of servers) server.close();
    parentPort.postMessage('closed');
  });
`;

/** Listening sockets of a thread that is busy. */
async function busyListeners(t: TestContext, count: number) {
  const closing = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(BUSY_LISTENERS, { eval: true, workerData: { closing, count } });
  t.after(() => worker.terminate());
  const [listeners] = (await once(worker, 'message')) as [{ port: number; descriptor: number }[]];
  const close = async (): Promise<void> => {
    Atomics.store(closing, 0, 1);
    Atomics.notify(closing, 0);
    await once(worker, 'message');
  };
  return { listeners, close };
}

/** Passes sockets to each client that connects. */
async function passing(t: TestContext, sockets: readonly NamedDescriptor[]): Promise<{ path: string; results: boolean[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-passed-'));
  const path = join(folder, 'passed.sock');
  const results: boolean[] = [];
  const server = createServer({ pauseOnConnect: true }, (connection) => results.push(passSockets(connection, sockets))).listen(path);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { path, results };
}

/** Listens on a socket that was passed, and answers each connection. */
async function succeed(t: TestContext, sockets: PassedSockets, name: string): Promise<Server> {
  const handle = sockets.take(name, 0);
  assert.ok(handle !== null, `${name} was passed`);
  const server = createServer((connection) => connection.end('served')).listen(handle);
  t.after(() => server.close());
  await once(server, 'listening');
  return server;
}

test('a connection that waits in the queue of a listening socket is served by the successor, and its close resets none', async (t) => {
  const { listeners, close } = await busyListeners(t, 1);
  const { port = 0, descriptor = -1 } = listeners[0] ?? {};
  const { path } = await passing(t, [{ name: 'one', descriptor }]);
  const sockets = await receiveSockets(path, systemClock);

  // The kernel accepts these connections, and nobody takes them out of the queue.
  const waiting = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const socket = connect(port, '127.0.0.1');
      t.after(() => socket.destroy());
      await once(socket, 'connect');
      return socket;
    }),
  );
  await close();

  await succeed(t, sockets, 'one');
  const answers = await Promise.all(waiting.map(async (socket) => String((await once(socket, 'data'))[0])));
  assert.deepEqual(new Set(answers), new Set(['served']));
});

test('sockets are passed by name, those that are not taken are closed, and a socket that is gone is left out', async (t) => {
  const { listeners, close } = await busyListeners(t, 3);
  const ports = listeners.map(({ port }) => port);
  const named = listeners.map(({ descriptor }, at) => ({ name: `socket ${at}`, descriptor }));
  const { path, results } = await passing(t, [...named, { name: 'gone', descriptor: 1_000_000 }]);
  const sockets = await receiveSockets(path, systemClock);
  await close();

  const successor = await succeed(t, sockets, 'socket 1');
  assert.equal(Reflect.get(Object(successor.address()), 'port'), ports[1]);
  assert.deepEqual(
    ['socket 1', 'gone', 'unknown'].map((name) => sockets.take(name, 0)),
    [null, null, null],
  );
  sockets.closeRest();
  for (const [at, port] of ports.entries()) {
    const socket = connect(port, '127.0.0.1');
    t.after(() => socket.destroy());
    const outcome = await new Promise((resolve) =>
      socket.once('data', (data) => resolve(String(data))).once('error', (error: NodeJS.ErrnoException) => resolve(error.code)),
    );
    assert.equal(outcome, at === 1 ? 'served' : 'ECONNREFUSED');
  }
  assert.deepEqual(results, [true]);
});

test('where nobody offers sockets, or somebody has none, nothing is received', async (t) => {
  const { path } = await passing(t, []);
  for (const at of ['/nowhere/passed.sock', path]) assert.equal((await receiveSockets(at, systemClock)).take('one', 0), null);
});

test('a socket keeps its name if the one before it is lost because no descriptor is free', async (t) => {
  const { listeners } = await busyListeners(t, 1);
  const { port, descriptor = -1 } = listeners[0] ?? {};
  const folder = mkdtempSync(join(tmpdir(), 'sluice-passed-'));
  const path = join(folder, 'passed.sock');
  const server = createServer({ pauseOnConnect: true }, (connection) =>
    // As the system delivers it then: its name alone.
    connection.write('one\n', () => passSockets(connection, [{ name: 'two', descriptor }])),
  ).listen(path);
  await once(server, 'listening');
  t.after(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  const sockets = await receiveSockets(path, systemClock);
  assert.equal(sockets.take('one', 0), null);
  const successor = await succeed(t, sockets, 'two');
  assert.equal(Reflect.get(Object(successor.address()), 'port'), port);
});
