import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { oneByOne } from './one-by-one.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n';

async function start() {
  let served = 0;
  const server = createServer(
    oneByOne((_, response) => {
      served++;
      response.end('here');
    }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    served: () => served,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

test('a connection that pipelines any number of requests is closed after a few', async () => {
  await using server = await start();
  const socket = connect(server.port, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(REQUEST.repeat(1_000));
  await once(socket.resume(), 'close');
  assert.equal(server.served(), 16);
});

test('a few pipelined requests, and any number of requests one after the other, are answered', async () => {
  await using server = await start();
  const socket = connect(server.port, '127.0.0.1');
  let answers = 0;
  const awaits = async (count: number) => {
    while (answers < count) {
      const [text] = (await once(socket, 'data')) as [Buffer];
      answers += text.toString('latin1').split('HTTP/1.1 200 OK').length - 1;
    }
  };
  socket.write(REQUEST.repeat(16));
  await awaits(16);
  for (let sent = 17; sent <= 60; sent++) {
    socket.write(REQUEST);
    await awaits(sent);
  }
  socket.destroy();
});
