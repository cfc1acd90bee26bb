import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { logInto } from '../../../shared/runtime/log/log-line.ts';
import { systemFs } from './disk-fs.ts';
import { DiskStore } from './disk-store.ts';
import type { DiskStart, FromDisk, ToDisk } from './messages.ts';

/** The edge of the thread that owns the files of the cache. It is the only one that a slow disk can stop. */
const port = parentPort;
if (port === null) throw new Error('the files of the cache are kept by a thread of its own');

const TICK_MS = 1_000;
const post = (message: FromDisk): void => port.postMessage(message);
const store = new DiskStore(workerData as DiskStart, { fs: systemFs, clock: systemClock, log: logInto(post), post });

/** Messages are handled between two turns. */
let turning = false;
function turn(): void {
  turning = store.turn();
  if (turning) setImmediate(turn);
}
function wake(): void {
  if (turning) return;
  turning = true;
  setImmediate(turn);
}

systemClock.every(TICK_MS, () => {
  store.tick();
  wake();
});
port.on('message', (message: ToDisk) => {
  store.handle(message);
  if (message.kind === 'close') return port.close();
  wake();
});
wake();
