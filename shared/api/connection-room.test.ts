import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { ManualClock } from '../runtime/testing/manual-clock.ts';
import { ConnectionRoom } from './connection-room.ts';

/** A server with room for three connections. `/` is answered at once, `/held` begins to be, and `/waiting` is not. */
async function start() {
  const clock = new ManualClock();
  const held: ServerResponse[] = [];
  const server = createServer((request, response) => {
    if (request.url === '/') return void response.end('here');
    room.hold(request.socket, response);
    if (request.url === '/held') response.write('held');
    held.push(response);
  });
  const room = new ConnectionRoom(server, clock, 3);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const open = async (path?: string): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    const accepted = once(server, 'connection');
    await once(socket, 'connect');
    await accepted;
    if (path !== undefined) await answered(socket, path);
    return socket;
  };
  return {
    room,
    clock,
    held,
    open,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function answered(socket: Socket, path: string): Promise<void> {
  const answer = once(socket, 'data');
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  await answer;
}

const closed = (socket: Socket): Promise<unknown> => (socket.closed ? Promise.resolve() : once(socket.resume(), 'close'));

test('a full listener closes the connection that has been idle longest', async () => {
  await using server = await start();
  const first = await server.open();
  const second = await server.open();
  await server.open();
  await answered(first, '/');
  await server.open('/');
  await closed(second);
  assert.equal(first.closed, false);
});

test('a connection with an admitted request in progress is not closed, and is idle again afterwards', async () => {
  await using server = await start();
  const streams = [await server.open('/held'), await server.open('/held'), await server.open('/held')];
  await closed(await server.open());
  server.clock.pass(3_600_000);
  assert.deepEqual(
    streams.map((socket) => socket.closed),
    [false, false, false],
  );
  server.held[1]?.end();
  await server.open('/');
  await closed(streams[1] as Socket);
});

test('an idle connection is closed after ten seconds, even if half a request head was sent', async () => {
  await using server = await start();
  const silent = await server.open();
  const half = await server.open();
  half.write('GET / HTTP/1.1\r\n');
  const busy = await server.open('/held');
  server.clock.pass(9_000);
  assert.deepEqual([silent.closed, half.closed], [false, false]);
  server.clock.pass(2_000);
  await Promise.all([closed(silent), closed(half)]);
  assert.equal(busy.closed, false);
});

test('a drain waits for responses that have not begun, and not for streams or idle connections', async () => {
  await using server = await start();
  const stream = await server.open('/held');
  const idle = await server.open('/');
  const waiting = await server.open();
  waiting.write('POST /waiting HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n');
  while (server.held.length < 2) await new Promise(setImmediate);
  const drained = server.room.drain(60_000);
  await Promise.all([closed(stream), closed(idle)]);
  let text = '';
  waiting.setEncoding('utf8').on('data', (more: string) => {
    text += more;
  });
  server.held[1]?.writeHead(503).end('unsaved');
  await Promise.all([closed(waiting), drained]);
  assert.match(text, /^HTTP\/1\.1 503 .*unsaved/s);
});

test('a drain ends after its time, and cuts off what was not answered', async () => {
  await using server = await start();
  const waiting = await server.open();
  waiting.write('GET /waiting HTTP/1.1\r\nHost: localhost\r\n\r\n');
  while (server.held.length < 1) await new Promise(setImmediate);
  const drained = server.room.drain(500);
  server.clock.pass(500);
  await Promise.all([closed(waiting), drained]);
  assert.equal(server.held[0]?.headersSent, false);
});
