import { parentPort, workerData } from 'node:worker_threads';
import { sleep, systemClock } from '../../shared/runtime/clock.ts';
import { LineRings } from '../ledger/line-ring.ts';
import { postSpans } from './otlp-request.ts';
import { SpanExporter } from './span-exporter.ts';
import type { ExportThreadData, FromExportThread, ToExportThread } from './trace-export.ts';

/** How often the workers' spans are taken (ms). */
const TURN_MS = 250;
/** How long the last spans may take, and how often a collector that fails is tried again meanwhile (ms). */
const LAST_SPANS_MS = 1_500;
const RETRY_MS = 200;

/** The thread that sends spans. It is the only one that a slow collector can keep waiting. */
const port = parentPort;
if (port === null) throw new Error('spans are sent in a thread of their own');
const post = (message: FromExportThread): void => port.postMessage(message);
const { spans, destination, userAgent, envelope } = workerData as ExportThreadData;
const rings = new LineRings(spans);
const exporter = new SpanExporter({
  clock: systemClock,
  rings,
  envelope,
  send: (body) => postSpans(destination, userAgent, body),
  report: (failure) => post({ kind: 'state', failure }),
});
let ended = false;

port.on('message', (_message: ToExportThread) => {
  ended = true;
  void end().then(() => {
    post({ kind: 'ended' });
    port.close();
  });
});

async function end(): Promise<void> {
  const last = systemClock.monotonic() + LAST_SPANS_MS;
  const deadline = sleep(systemClock, LAST_SPANS_MS);
  do await Promise.race([exporter.turn(true).then(() => (exporter.busy ? sleep(systemClock, RETRY_MS) : undefined)), deadline]);
  while (exporter.busy && systemClock.monotonic() < last);
  exporter.end();
}

async function run(): Promise<void> {
  while (!ended) {
    const { bell } = rings;
    void exporter.turn();
    await rings.wait(TURN_MS, bell);
  }
}

// An exception ends the thread, and the main thread starts it again.
void run();
