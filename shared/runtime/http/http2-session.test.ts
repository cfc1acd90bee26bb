import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectHttp2, createServer } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { nativeHandle, openSession } from './http2-session.ts';

test('this Node version exposes the native session object that is kept alive, and openSession leaves only its own error listener on the socket', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const mine = (): void => undefined;
  socket.on('error', mine);
  const session = openSession(socket, () => connectHttp2('http://localhost', { createConnection: () => socket }));
  await once(session, 'connect');
  assert.notEqual(nativeHandle(session), null);
  const errors: unknown[] = [];
  session.on('error', (error) => errors.push(error));
  socket.destroy(new Error('a reset'));
  await once(socket, 'error');
  assert.equal(session.destroyed, false);
  await once(session, 'close');
  assert.equal(nativeHandle(session), null);
  assert.deepEqual(errors, []);
  assert.ok(socket.listeners('error').includes(mine));
});
