import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { Connections, connectionKey, UNCOUNTED } from './connections.ts';

const NOW = 1_700_000_000_000;
const ledger = (workers = 2) => new Connections(Connections.buffer(workers), workers);

test('the total limit applies to all workers together', () => {
  const connections = ledger();
  const limits = { maxConnections: 2, maxSockets: 100 };
  assert.deepEqual([connections.enter(0, limits), connections.enter(1, limits), connections.enter(0, limits)], [null, null, 'limit']);
  assert.equal(connections.open(), 2);
  connections.leave(1);
  assert.equal(connections.enter(0, limits), null);
});

test('client and upstream connections together stay within the limit of sockets', () => {
  const connections = ledger();
  const limits = { maxConnections: 100, maxSockets: 3 };
  assert.deepEqual([connections.enter(0, limits), connections.enterUpstream(0, 3), connections.enter(1, limits)], [null, true, null]);
  assert.deepEqual([connections.enterUpstream(1, 3), connections.enter(0, limits)], [false, 'descriptors']);
  assert.deepEqual([connections.open(), connections.sockets()], [2, 3]);
  connections.leaveUpstream(0);
  assert.equal(connections.enterUpstream(1, 3), true);
  connections.clearWorker(1);
  assert.deepEqual([connections.open(), connections.sockets()], [1, 1]);
});

test('files that are being sent count for the limit of sockets, and take at most half of it', () => {
  const connections = ledger();
  const limits = { maxConnections: 100, maxSockets: 5 };
  assert.deepEqual([connections.enterFile(0, 5), connections.enterFile(1, 5), connections.enterFile(0, 5)], [true, true, false]);
  assert.deepEqual([connections.enter(0, limits), connections.enterUpstream(1, 5), connections.enter(1, limits)], [null, true, null]);
  assert.deepEqual([connections.enterUpstream(0, 5), connections.open(), connections.sockets()], [false, 2, 5]);
  connections.leaveFile(0);
  assert.equal(connections.enterUpstream(0, 5), true);
  assert.equal(connections.enterFile(0, 5), false);
  connections.clearWorker(1);
  assert.deepEqual([connections.open(), connections.sockets()], [1, 2]);
});

test('the limit per address applies to all workers together and to each address separately', () => {
  const connections = ledger();
  const [one, two] = [connectionKey('192.0.2.1'), connectionKey('192.0.2.2')];
  const first = connections.enterAddress(one, 0, 2, NOW);
  assert.notEqual(first, null);
  assert.notEqual(connections.enterAddress(one, 1, 2, NOW), null);
  assert.equal(connections.enterAddress(one, 1, 2, NOW), null);
  assert.notEqual(connections.enterAddress(two, 1, 2, NOW), null);
  assert.deepEqual([connections.openFrom(one), connections.openFrom(two)], [2, 1]);
  connections.leaveAddress(first ?? UNCOUNTED, 0);
  assert.notEqual(connections.enterAddress(one, 0, 2, NOW), null);
});

test('only the connections of a dead worker are forgotten', () => {
  const connections = ledger();
  const key = connectionKey('192.0.2.1');
  for (const worker of [0, 0, 1]) {
    connections.enter(worker, { maxConnections: 10, maxSockets: 10 });
    connections.enterAddress(key, worker, 10, NOW);
  }
  connections.clearWorker(0);
  assert.deepEqual([connections.open(), connections.openFrom(key)], [1, 1]);
});

test('the addresses of one IPv6 /64 are counted as one client, in any spelling', () => {
  const same = ['2001:db8::1', '2001:db8:0:0:ffff::9', '2001:db8:0:0::7', '2001:0db8::5'].map(connectionKey);
  for (const key of same) assert.deepEqual(key, same[0]);
  const others = ['2001:db8:0:1::1', '2001:db9::1', '::1', '192.0.2.1'].map((address) => connectionKey(address).fingerprint);
  assert.equal(new Set([same[0]?.fingerprint, ...others]).size, 5);
});

test('an address without connections gives up its slot, and one with connections never does', () => {
  const connections = ledger(1);
  // As many connected addresses as there are slots: some buckets are full and overflow.
  const held = new Map<number, string>();
  for (let n = 0; n < 90_000; n++) {
    const slot = connections.enterAddress(connectionKey(`held ${n}`), 0, 5, NOW) ?? UNCOUNTED;
    if (slot !== UNCOUNTED) held.set(slot, `held ${n}`);
  }
  assert.ok(held.size > 50_000 && held.size <= 1 << 16);
  for (let n = 0; n < 20_000; n++) connections.enterAddress(connectionKey(`late ${n}`), 0, 5, NOW + 10_000);
  for (const address of held.values()) assert.equal(connections.openFrom(connectionKey(address)), 1);
  const [slot, address] = [...held][0] as [number, string];
  connections.leaveAddress(slot, 0);
  assert.equal(connections.openFrom(connectionKey(address)), 0);
});

/** Runs code in four threads at once; it sees `connections`, `connectionKey` and `worker`. */
async function inFourThreads(buffer: SharedArrayBuffer, body: string): Promise<void> {
  const code = `
    const { workerData: { worker, buffer, module } } = require('node:worker_threads');
    import(module).then(({ Connections, connectionKey }) => {
      const connections = new Connections(buffer, 4);
      ${body}
    });`;
  const module = new URL('./connections.ts', import.meta.url).href;
  const threads = [0, 1, 2, 3].map((worker) => new Worker(code, { eval: true, workerData: { worker, buffer, module } }));
  await Promise.all(threads.map((thread) => new Promise((resolve, reject) => thread.once('exit', resolve).once('error', reject))));
}

test('counts stay exact when workers race for the same few addresses', async () => {
  const buffer = Connections.buffer(4);
  await inFourThreads(
    buffer,
    `const keys = ['a', 'b', 'c'].map(connectionKey);
    for (let turn = 0; turn < 30000; turn++) {
      if (connections.enter(worker, { maxConnections: 3, maxSockets: 9 }) !== null) continue;
      if (connections.open() > 7) throw new Error('more than three, and one attempt of each other worker');
      const slot = connections.enterAddress(keys[turn % 3], worker, 2, turn);
      if (slot !== null) connections.leaveAddress(slot, worker);
      connections.leave(worker);
    }`,
  );
  const connections = new Connections(buffer, 4);
  assert.equal(connections.open(), 0);
  for (const address of ['a', 'b', 'c']) assert.equal(connections.openFrom(connectionKey(address)), 0);
});

test('when two workers compete for the last connection, exactly one gets it', async () => {
  const buffer = Connections.buffer(4);
  await inFourThreads(
    buffer,
    `const keys = Array.from({ length: 1000 }, (_, at) => connectionKey('racing ' + at));
    // Two of the threads meet before each address, at a word that is not otherwise used.
    const gate = new Int32Array(buffer, buffer.byteLength - 4, 1);
    if (worker < 2) keys.forEach((key, at) => {
      Atomics.add(gate, 0, 1);
      while (Atomics.load(gate, 0) < 2 * at + 2);
      connections.enterAddress(key, worker, 1, 1000);
    });`,
  );
  const connections = new Connections(buffer, 4);
  const places = Array.from({ length: 1_000 }, (_, at) => connections.openFrom(connectionKey(`racing ${at}`)));
  assert.deepEqual(new Set(places), new Set([1]));
});

test('every refusal is counted, and each reason is logged at most once a minute', () => {
  const connections = ledger();
  assert.deepEqual([connections.refused('limit', NOW), connections.refused('limit', NOW + 59_000)], [true, false]);
  assert.equal(connections.refused('address_limit', NOW), true);
  assert.equal(connections.refused('limit', NOW + 61_000), true);
  const counts = Object.fromEntries(connections.reading().refused);
  assert.deepEqual([counts.limit, counts.address_limit, counts.proxy_header], [3, 1, 0]);
});
