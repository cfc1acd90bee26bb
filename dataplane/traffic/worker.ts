import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../shared/runtime/clock.ts';
import { createLog, type LogLevel } from '../../shared/runtime/log.ts';
import { systemRandom } from '../../shared/runtime/random.ts';
import type { FromWorker, ToWorker, WorkerStart } from './protocol.ts';
import { TrafficWorker } from './traffic-worker.ts';

/** The edge of a worker thread: messages in, messages out. */
const start = workerData as WorkerStart;
const port = parentPort;
if (port === null) throw new Error('a traffic worker runs in a worker thread');

const level = (start.state.settings?.logLevel ?? 'info') as LogLevel;
const worker = new TrafficWorker({
  start,
  clock: systemClock,
  random: systemRandom,
  log: createLog(`worker-${start.worker}`, level),
  tell: (message: FromWorker) => port.postMessage(message),
});
port.on('message', (message: ToWorker) => worker.take(message));
await worker.start();
