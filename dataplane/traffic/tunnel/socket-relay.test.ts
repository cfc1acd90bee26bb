import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { relay } from './socket-relay.ts';

const WORDS = 1_000_000;
/** No two places of it are alike, so that bytes which were overwritten, lost or swapped are noticed. */
const BODY = Buffer.from(Uint32Array.from({ length: WORDS }, (_, at) => Math.imul(at, 2_654_435_761)).buffer);
const TURNS = 20;

/** Two ends of one connection. */
async function pair(): Promise<readonly [Socket, Socket]> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, allowHalfOpen: true, noDelay: true });
  const [far] = (await once(server, 'connection')) as [Socket];
  server.close();
  far.pause();
  return [near, far];
}

/** Two clients, and a relay between them. */
async function related() {
  const [[one, first], [other, second]] = [await pair(), await pair()];
  const faults: unknown[] = [];
  relay(first, second, { onFault: (error) => faults.push(error) });
  const end = () => {
    for (const socket of [one, other, first, second]) socket.destroy();
    assert.deepEqual(faults, []);
  };
  return { one, other, [Symbol.dispose]: end };
}

/** Sends pieces of many sizes, and then ends its side. */
async function pour(socket: Socket): Promise<void> {
  const sizes = [100, 16_384, 16_385, 65_536, 300_000, 1];
  for (let at = 0, nth = 0; at < BODY.length; nth++) {
    const size = sizes[nth % sizes.length] ?? 1;
    if (!socket.write(BODY.subarray(at, at + size))) await once(socket, 'drain');
    at += size;
    if (nth % 2 === 0) await nextTurn();
  }
  socket.end();
}

/** Reads to the end, with pauses. */
async function read(socket: Socket): Promise<Buffer> {
  const got: Buffer[] = [];
  for await (const piece of socket.iterator({ destroyOnReturn: false })) {
    got.push(piece);
    if (got.length % 3 === 0) for (let turn = 0; turn < TURNS; turn++) await nextTurn();
  }
  return Buffer.concat(got);
}

test('bytes are relayed unchanged in both directions at the same time, between sides that read slowly', async () => {
  using way = await related();
  const [there, back] = await Promise.all([read(way.other), read(way.one), pour(way.one), pour(way.other)]);
  assert.ok(there.equals(BODY));
  assert.ok(back.equals(BODY));
});

test('many relays at the same time never mix their bytes', async () => {
  using all = new DisposableStack();
  const ways = await Promise.all(Array.from({ length: 8 }, async () => all.use(await related())));
  const message = (nth: number, round: number) => `${nth}:${round}:${'x'.repeat((nth * 977 + round * 131) % 20_000)}\n`;
  await Promise.all(
    ways.map(async ({ one, other }, nth) => {
      let [sent, got] = ['', ''];
      other.setEncoding('latin1').on('data', (text: string) => {
        got += text;
      });
      for (let round = 0; round < 50; round++) {
        sent += message(nth, round);
        one.write(message(nth, round));
        await nextTurn();
      }
      one.end();
      await once(other, 'end');
      assert.equal(got, sent);
    }),
  );
});

test('one side may end while the other continues', async () => {
  using way = await related();
  way.one.end('last words');
  assert.equal((await read(way.other)).toString(), 'last words');
  const [got] = await Promise.all([read(way.one), pour(way.other)]);
  assert.ok(got.equals(BODY));
});
