import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { test } from 'node:test';
import type { AcceptedSocket } from '../io/accepted-socket.ts';
import { PassedSockets } from '../io/passed-sockets.ts';
import { Port } from './port.ts';

/** Prints the option of the socket that is its standard input. Perl is part of every Debian. */
const PRINT_NO_DELAY = 'print unpack("i", getsockopt(STDIN, IPPROTO_TCP, TCP_NODELAY) // die $!)';

/** Whether the system sends small pieces of this socket at once (TCP_NODELAY). */
function sendsAtOnce(socket: Socket): boolean {
  const handle: unknown = Reflect.get(socket, '_handle');
  const descriptor: unknown = typeof handle === 'object' && handle !== null ? Reflect.get(handle, 'fd') : null;
  assert.ok(typeof descriptor === 'number' && descriptor >= 0);
  const { stdout, stderr } = spawnSync('perl', ['-MSocket=IPPROTO_TCP,TCP_NODELAY', '-e', PRINT_NO_DELAY], {
    stdio: [descriptor, 'pipe', 'pipe'],
    encoding: 'utf8',
  });
  assert.match(stdout, /^\d+$/, stderr);
  return stdout !== '0';
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
