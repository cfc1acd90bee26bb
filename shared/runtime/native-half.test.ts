import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { nativeHalf } from './native-half.ts';

test('this Node has the native halves that are kept, while a session and its stream live', async (t) => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => void server.close());
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  assert.equal(nativeHalf(session), null);
  await once(session, 'connect');
  const stream = session.request({ ':path': '/' });
  const halves = [nativeHalf(session), nativeHalf(stream)];
  assert.ok(halves.every((half) => half !== null) && halves[0] !== halves[1]);
  session.destroy();
  await once(stream, 'close');
  assert.equal(nativeHalf(stream), null);
});
