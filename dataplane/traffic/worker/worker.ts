import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { releaseMemoryWhenIdle } from '../../../shared/runtime/idle-memory.ts';
import { systemRandom } from '../../../shared/runtime/random.ts';
import { setThreadMemory } from '../../../shared/runtime/thread-memory.ts';
import type { FromWorker, ToWorker, WorkerStart } from '../protocol.ts';
import { installBackstop, torn } from './backstop.ts';
import { relayedLog } from './relayed-log.ts';
import { TrafficWorker } from './traffic-worker.ts';

/** The edge of a worker thread: messages in, messages out. */
const start = workerData as WorkerStart;
const port = parentPort;
if (port === null) throw new Error('a traffic worker runs in a worker thread');

setThreadMemory(start.memoryBytes);
const post = (message: FromWorker): void => port.postMessage(message);
const worker = new TrafficWorker({
  start,
  clock: systemClock,
  random: systemRandom,
  log: relayedLog(start.state.settings?.logLevel ?? 'info', systemClock, post),
  post,
});
installBackstop(process, worker.faults);
port.on('message', (message: ToWorker) => worker.handle(message));
worker.start().catch(torn);
releaseMemoryWhenIdle(systemClock);
