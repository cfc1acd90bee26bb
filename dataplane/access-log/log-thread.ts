import { parentPort, workerData } from 'node:worker_threads';
import { sleep, systemClock } from '../../shared/runtime/clock.ts';
import { LineRings } from '../ledger/line-ring.ts';
import type { FromLogThread, ToLogThread } from './access-log.ts';
import { LogWriter } from './log-writer.ts';

/** How long a line may wait while there are few (ms). */
const TURN_MS = 100;
/** How long the last lines may wait for a pipe whose reader is slow, and how often it is tried (ms). */
const LAST_LINES_MS = 1_500;
const FULL_MS = 5;

/** The thread that writes the access log. It is the only one that a slow disk can stop. */
const port = parentPort;
if (port === null) throw new Error('the access log is written in a thread of its own');
const post = (message: FromLogThread): void => port.postMessage(message);
const rings = new LineRings(workerData as SharedArrayBuffer);
const writer = new LogWriter(rings, (report) => post({ kind: 'output', ...report }));
let ended = false;

port.on('message', ({ kind }: ToLogThread) => {
  if (kind === 'reopen') {
    writer.reopen(systemClock.monotonic());
    return post({ kind: 'reopened' });
  }
  ended = true;
  void end().then(() => {
    post({ kind: 'ended' });
    port.close();
  });
});

/** The reader of a full pipe gets some time for the last lines. */
async function end(): Promise<void> {
  const last = systemClock.monotonic() + LAST_LINES_MS;
  for (;;) {
    const now = systemClock.monotonic();
    writer.turn(now);
    if (!writer.busy || now >= last) break;
    await sleep(systemClock, FULL_MS);
  }
  writer.end();
}

async function run(): Promise<void> {
  while (!ended) {
    const { bell } = rings;
    writer.turn(systemClock.monotonic());
    await rings.wait(TURN_MS, bell);
  }
}

// An exception ends the thread, and the main thread starts it again.
void run();
