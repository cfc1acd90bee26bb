import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { until } from '../../shared/runtime/testing/until.ts';
import { addressOf, chatApp } from '../testing/chat-app.ts';
import { Dataplane, Folder } from '../testing/dataplane.ts';

async function custom(port: number, host: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write(`GET /tunnel HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: custom/1\r\n\r\n`);
  const [head] = (await once(socket, 'data')) as [string];
  assert.match(head, /^HTTP\/1\.1 101 /);
  return socket;
}

describe('tunnels', () => {
  const folder = new Folder();
  let dataplane: Dataplane;
  before(async () => {
    dataplane = await Dataplane.start({ stateDir: folder.path, flags: ['--drain-timeout', '2s'] });
  });
  after(async () => {
    await dataplane?.[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  test('WebSockets and unknown upgrade protocols are tunnelled', async () => {
    const server = await chatApp();
    await dataplane.route('localhost', addressOf(server));
    const socket = new WebSocket(`ws://localhost:${dataplane.httpPort}/chat`);
    await once(socket, 'open');
    socket.send('hello');
    const [message] = (await once(socket, 'message')) as [MessageEvent];
    assert.equal(message.data, 'hello');
    socket.close();
    const other = await custom(dataplane.httpPort, 'localhost');
    other.write('bytes');
    assert.deepEqual(await once(other, 'data'), ['bytes']);
    other.destroy();
    const snapshot = await until('both to be counted', async () => {
      const answer = await dataplane.admin('GET', '/analytics/localhost');
      const { status_codes } = JSON.parse(answer.text) as { status_codes?: { s1xx: number } };
      return status_codes?.s1xx === 2 ? status_codes : undefined;
    });
    assert.equal(snapshot.s1xx, 2);
    server.closeAllConnections();
    server.close();
  });

  test('50 tunnels keep working during 40 table swaps', async () => {
    const server = await chatApp();
    await dataplane.route('tunnel.test', addressOf(server));
    const sockets = await Promise.all(Array.from({ length: 50 }, () => custom(dataplane.httpPort, 'tunnel.test')));
    for (let swap = 0; swap < 40; swap++) {
      await dataplane.route(swap % 4 === 0 ? 'tunnel.test' : 'other.test', addressOf(server), { rate_limit_rps: 1_000 + swap });
      await Promise.all(
        sockets.map(async (socket, index) => {
          socket.write(`${swap}-${index};`);
          assert.deepEqual(await once(socket, 'data'), [`${swap}-${index};`]);
        }),
      );
    }
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });

  test('a drain keeps tunnels open until the drain timeout', async () => {
    const server = await chatApp();
    await dataplane.route('tunnel.test', addressOf(server));
    const socket = await custom(dataplane.httpPort, 'tunnel.test');
    const ended = once(socket, 'close');
    socket.on('error', () => undefined);
    const exit = dataplane.program.kill('SIGTERM');
    await dataplane.program.said('draining');
    socket.write('still');
    assert.deepEqual(await once(socket, 'data'), ['still']);
    await ended;
    assert.equal((await exit).code, 0);
    server.closeAllConnections();
    server.close();
  });
});
