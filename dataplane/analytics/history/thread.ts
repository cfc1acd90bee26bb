import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../shared/runtime/clock.ts';
import { releaseMemoryWhenIdle } from '../../../shared/runtime/idle-memory.ts';
import { logInto } from '../../../shared/runtime/log/log-line.ts';
import { type HistoryAnswer, HistoryKeeper } from './keeper.ts';
import type { FromHistory, HistoryStart, ToHistory } from './messages.ts';

/** The edge of the history thread: messages in, messages out. */
const { path, retention } = workerData as HistoryStart;
const port = parentPort;
if (port === null) throw new Error('history is kept in a thread of its own');

const SAVE_MS = 10_000;
const post = (message: FromHistory): void => port.postMessage(message);

/** Posted after the state, so that a failure that has been logged is among the alerts, too. */
const lines: FromHistory[] = [];
const log = logInto((line) => void lines.push(line));

const keeper = new HistoryKeeper({ path, retention, clock: systemClock, log });

let reported: string | null = null;

function report(): void {
  const { failure } = keeper;
  if (failure !== reported) post({ kind: 'state', failure });
  reported = failure;
  for (const line of lines.splice(0)) post(line);
}

function sweep(): void {
  const unfinished = keeper.sweep();
  report();
  if (unfinished) setImmediate(sweep);
}

systemClock.every(SAVE_MS, () => {
  keeper.save();
  sweep();
});
report();
releaseMemoryWhenIdle(systemClock);

port.on('message', (message: ToHistory) => {
  handle(message);
  report();
});

function handle(message: ToHistory): void {
  switch (message.kind) {
    case 'add':
      return keeper.add(message.reports);
    case 'answer':
      return post({ kind: 'answer', id: message.id, answer: keeper.answer(message.host, message.range, message.format) });
    case 'forget':
      return advance(message.id, keeper.forget(message.host));
    case 'close':
      keeper.close();
      report();
      port?.close();
  }
}

/** Other messages are handled between the steps. */
function advance(id: number, steps: Iterator<void, HistoryAnswer>): void {
  const step = steps.next();
  report();
  if (step.done) post({ kind: 'answer', id, answer: step.value });
  else setImmediate(advance, id, steps);
}
