import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../shared/runtime/testing/manual-clock.ts';
import { memoryLog } from '../../shared/runtime/testing/memory-log.ts';
import { until } from '../../shared/runtime/testing/until.ts';
import { createLedger } from '../ledger/ledger.ts';
import type { WholeState } from '../traffic/protocol.ts';
import { Watchdog } from './watchdog.ts';
import { WorkerPool } from './worker-pool.ts';

/** A worker without traffic: it does what it is told, and never ends its last connection. */
const entryOf = (channel: string, late: readonly number[]): URL =>
  new URL(
    `data:text/javascript,${encodeURIComponent(`
    import { parentPort, workerData } from 'node:worker_threads';
    const acts = {
      serve: () => parentPort.postMessage({ kind: 'serving', generation: 0, listeners: [] }),
      exit: () => process.exit(1),
      answer: () => say('alive'),
    };
    const say = (message) => parentPort.postMessage({ kind: 'log', level: 'info', fields: {}, message });
    new BroadcastChannel('${channel}').onmessage = ({ data: { worker, act } }) => worker === workerData.worker && acts[act]();
    parentPort.on('message', () => undefined);
    say('ready');
    if (!${JSON.stringify(late)}.includes(workerData.worker)) acts.serve();
  `)}`,
  );

let pools = 0;

/** `count` workers that serve. Those of `late`, the first of which is 1, begin to serve when they are told. */
async function scene(t: TestContext, count: number, late: readonly number[]) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pool-'));
  const name = `pool-${++pools}`;
  const channel = new BroadcastChannel(name);
  const clock = new ManualClock();
  const ledger = createLedger(WorkerPool.slots(count));
  const log = memoryLog();
  const changes: string[] = [];
  const ignore = (): undefined => undefined;
  let spawned = 0;
  const pool = new WorkerPool({
    ...{ count, entry: entryOf(name, late), ledger, hashKey: Buffer.alloc(16), countries: null, socketDir: folder, clock, log },
    // Called for each worker when its thread is started.
    state: () => {
      spawned++;
      return { generation: 0 } as WholeState;
    },
    ...{
      onReport: ignore,
      onTarget: ignore,
      onLost: ignore,
      onAwaited: ignore,
      onBotClaimed: ignore,
      onKeyWanted: ignore,
      onAccessLog: ignore,
    },
    onCache: ignore,
    onChange: (worker, state) => changes.push(`${worker} ${state}`),
  });
  t.after(async () => {
    channel.close();
    await pool.stop();
    rmSync(folder, { recursive: true });
  });
  await pool.start();
  const tell = (worker: number, act: 'serve' | 'exit' | 'answer') => channel.postMessage({ worker, act });
  const said = (worker: number, what: string) => () =>
    log.lines.some(({ fields, message }) => 'worker' in fields && fields.worker === worker && message === what);
  return {
    ...{ pool, clock, changes, tell },
    /** Waits until a thread runs. */
    ready: (worker: number) => until(`worker ${worker} to run`, said(worker, 'ready')),
    /** Waits for the answer of a worker, which one that has been terminated does not give. */
    isAlive: (worker: number) => {
      tell(worker, 'answer');
      return until(`worker ${worker} to answer`, said(worker, 'alive'));
    },
    /** Ends a worker, and waits until the pool has noticed that: it clears what is counted for the slot. */
    end: (worker: number, slot: number) => {
      ledger.inFlight.begin(slot);
      tell(worker, 'exit');
      return until(`the end of worker ${worker}`, () => ledger.inFlight.total() === 0);
    },
    /** The workers started so far, with those that are about to be: sockets are offered to them first, as here afterwards. */
    spawned: async () => {
      const later = await pool.offerListeners(join(folder, 'later.sock'));
      later?.close();
      await nextTurn();
      return spawned;
    },
    /** Time passes in which only the workers of these slots do not hang. */
    passWith: (...beating: number[]) => {
      for (let passed = 0; passed < 3_000; passed += Watchdog.PERIOD_MS) {
        for (const slot of beating) ledger.heartbeats.beat(slot);
        clock.pass(Watchdog.PERIOD_MS);
      }
    },
  };
}

test('a worker that hangs while it is replaced has one successor', async (t) => {
  const { pool, changes, passWith, tell, ready, spawned } = await scene(t, 2, [3, 4]);
  const replaced = pool.replace(1, 60_000);
  await ready(3);
  passWith(1);
  assert.equal(await spawned(), 3);
  tell(3, 'serve');
  await replaced;
  passWith(1, 2, 3);
  await until('the old one to be gone', () => changes.includes('1 retired') || changes.includes('1 replaced'));
  assert.deepEqual([pool.serving, await spawned()], [2, 3], changes.join());
});

test('a worker that is to be replaced while it hangs has one successor', async (t) => {
  const { pool, changes, passWith, tell, ready, spawned } = await scene(t, 2, [3, 4]);
  passWith(1);
  await ready(3);
  const replaced = pool.replace(1, 60_000);
  assert.equal(await spawned(), 3);
  tell(3, 'serve');
  await replaced;
  await until('the old one to be gone', () => changes.includes('1 replaced') || changes.includes('1 retired'));
  assert.deepEqual([pool.serving, await spawned()], [2, 3], changes.join());
});

test('several workers that hang at once share the slots that are left', async (t) => {
  const { pool, changes, passWith } = await scene(t, 2, []);
  await pool.replace(1, 60_000);
  passWith(0);
  await until('both to be replaced', () => changes.includes('2 replaced') && changes.includes('3 replaced'));
  passWith(0, 1, 2, 3);
  await until('others to serve', () => pool.serving === 2);
});

test('a worker that hangs and ends before its successor has started is replaced also if that fails', async (t) => {
  const { pool, changes, passWith, tell, ready } = await scene(t, 1, [2]);
  passWith();
  await ready(2);
  tell(1, 'exit');
  await until('its end', () => changes.includes('1 died'));
  passWith();
  tell(2, 'exit');
  await until('another one', () => pool.serving === 1);
});

test('a worker that has recovered when its successor serves ends after its last connection', async (t) => {
  const { pool, changes, passWith, tell, ready, isAlive } = await scene(t, 1, [2]);
  passWith();
  await ready(2);
  passWith(0);
  tell(2, 'serve');
  await until('its successor to serve', () => changes.includes('2 started'));
  await isAlive(1);
  assert.deepEqual([pool.serving, changes], [1, ['1 started', '2 started']]);
  tell(1, 'exit');
  await until('its end', () => changes.includes('1 retired'));
});

test('a worker that has recovered stays if its successor fails', async (t) => {
  const { pool, changes, passWith, ready, end, isAlive } = await scene(t, 1, [2]);
  passWith();
  await ready(2);
  passWith(0);
  await end(2, 1);
  await isAlive(1);
  assert.deepEqual([pool.serving, changes], [1, ['1 started']]);
});

test('a drain that begins while a successor is about to start does not wait for it', async (t) => {
  const { pool, tell } = await scene(t, 1, [2]);
  const replaced = pool.replace(1, 60_000);
  for (let turns = 0; turns < 20; turns++) await null;
  const drained = pool.drain(60_000);
  await replaced;
  tell(1, 'exit');
  await drained;
});
