import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/runtime/clock.ts';
import { LineRings } from '../ledger/line-ring.ts';
import type { FromLogThread, ToLogThread } from './access-log.ts';
import { LogWriter } from './log-writer.ts';

/** How long a line may wait while there are few (ms). */
const TURN_MS = 100;

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
  writer.end(systemClock.monotonic());
  post({ kind: 'ended' });
  port.close();
});

async function run(): Promise<void> {
  while (!ended) {
    writer.turn(systemClock.monotonic());
    await rings.wait(TURN_MS);
  }
}

// What it throws ends the thread, which the main thread starts again.
void run();
