import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../../../shared/runtime/clock.ts';
import type { AcceptedSocket } from '../io/accepted-socket.ts';
import { PassedSockets, passSockets, receiveSockets } from '../io/passed-sockets.ts';
import { Port } from './port.ts';

/** Prints an option of the socket that is its standard input. Perl is part of every Debian. */
const print = (level: string, name: string): string => `print unpack("i", getsockopt(STDIN, ${level}, ${name}) // die $!)`;

/** Whether the system sends small pieces of this socket at once (TCP_NODELAY). */
const sendsAtOnce = (socket: Socket): boolean => optionOf(socket, 'IPPROTO_TCP', 'TCP_NODELAY') !== 0;

function optionOf(socket: Socket, level: 'IPPROTO_TCP' | 'SOL_SOCKET', name: string): number {
  const handle: unknown = Reflect.get(socket, '_handle');
  const descriptor: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : null;
  assert.ok(typeof descriptor === 'number' && descriptor >= 0);
  const { stdout, stderr } = spawnSync('perl', [`-MSocket=${level},${name}`, '-e', print(level, name)], {
    stdio: [descriptor, 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  assert.match(stdout, /^\d+$/, stderr);
  return Number(stdout);
}

for (const [bind, host] of [
  ['127.0.0.1', '127.0.0.1'],
  [null, '127.0.0.1'],
  [null, '::1'],
] as const) {
  test(`connections from ${host} to ${bind ?? 'every address'} send without delay`, async (t) => {
    const accepted: AcceptedSocket[] = [];
    const port = new Port(true, (socket) => accepted.push(socket), assert.ifError);
    await port.listen(bind, 0, PassedSockets.none);
    t.after(() => port.close());
    for (let count = 1; count <= 2; count++) {
      const client = connect(port.number, host);
      t.after(() => client.destroy());
      await once(client, 'connect');
      while (accepted.length < count) await new Promise(setImmediate);
      const socket = accepted.at(-1)?.socket;
      assert.ok(socket !== undefined);
      t.after(() => socket.destroy());
      assert.equal(sendsAtOnce(socket), true);
    }
    const client = connect({ port: port.number, host, noDelay: false });
    t.after(() => client.destroy());
    await once(client, 'connect');
    assert.equal(sendsAtOnce(client), false);
  });
}

test('the system asks clients that are silent whether they are still there', async (t) => {
  const { promise, resolve } = Promise.withResolvers<AcceptedSocket>();
  const port = new Port(true, resolve, assert.ifError);
  await port.listen('127.0.0.1', 0, PassedSockets.none);
  t.after(() => port.close());
  const client = connect(port.number, '127.0.0.1');
  t.after(() => client.destroy());
  const { socket } = await promise;
  t.after(() => socket.destroy());
  const probes = ['TCP_KEEPIDLE', 'TCP_KEEPINTVL', 'TCP_KEEPCNT'].map((name) => optionOf(socket, 'IPPROTO_TCP', name));
  assert.deepEqual([optionOf(socket, 'SOL_SOCKET', 'SO_KEEPALIVE'), ...probes], [1, 75, 15, 8]);
  assert.equal(optionOf(client, 'SOL_SOCKET', 'SO_KEEPALIVE'), 0);
});

/** A thread with a listening socket. */
const LISTENING_THREAD = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:net').createServer().listen(0, '127.0.0.1', () => parentPort.postMessage(server._handle.fd));
`;

test('a socket that was passed for a port is not used if it is one of another port', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-port-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'passed.sock');
  const other = new Worker(LISTENING_THREAD, { eval: true });
  t.after(() => other.terminate());
  const [descriptor] = (await once(other, 'message')) as [number];
  const number = await freePort();
  // A worker has died, and another one has opened the same descriptor for another port.
  const server = createServer({ pauseOnConnect: true }, (connection) =>
    passSockets(connection, [{ name: `127.0.0.1 ${number}`, descriptor }]),
  ).listen(path);
  t.after(() => server.close());
  await once(server, 'listening');
  const passed = await receiveSockets(path, systemClock);
  t.after(() => passed.closeRest());

  const port = new Port(true, (socket) => socket.destroy(), assert.ifError);
  await port.listen('127.0.0.1', number, passed);
  t.after(() => port.close());
  assert.equal(port.number, number);
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
