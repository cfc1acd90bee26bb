import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../testing/proxy/test-proxy.ts';
import { OwnConnections } from './own-connections.ts';

/** The beginning of a ClientHello: two headers, the version, and this random value. */
const helloOf = (random: string): Buffer => Buffer.concat([Buffer.alloc(11), Buffer.alloc(32, random), Buffer.from('the rest')]);

/** Both ends of a connection. */
async function pair(): Promise<{ opened: Socket; arrived: Socket; close(): void }> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const opened = connect(address.port, '127.0.0.1');
  const [[arrived]] = await Promise.all([once(server, 'connection') as Promise<[Socket]>, once(opened, 'connect')]);
  return { opened, arrived, close: () => server.close() };
}

test('a connection has come back if it has the end and the ClientHello of one of ours, which another at the same end does not have', async () => {
  const own = new OwnConnections<string>();
  const { opened, arrived, close } = await pair();
  assert.deepEqual(own.passed(arrived, helloOf('a')), []);
  own.opened(opened, helloOf('a'), ['first', 'second']);
  assert.deepEqual(own.passed(arrived, helloOf('a')), ['first', 'second']);
  assert.deepEqual(own.passed(arrived, helloOf('b')), [], 'a visitor from the same address and port, which led elsewhere');
  assert.deepEqual(own.passed(opened, helloOf('a')), [], 'another end');
  opened.destroy();
  await eventually('its end', () => own.passed(arrived, helloOf('a')).length === 0);
  arrived.destroy();
  close();
});
