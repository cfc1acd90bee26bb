import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { DomainReport } from '../../traffic/protocol.ts';
import type { Format, HistoryAnswer } from './keeper.ts';
import type { FromHistory, HistoryStart, ToHistory } from './messages.ts';
import type { Range } from './range.ts';

/** How long an answer may take (ms). */
const ANSWER_MS = 10_000;
/** How long the last counts may take to be saved (ms). */
const CLOSE_MS = 5_000;
/** Size of the thread's young generation (MB): more costs memory and gains nothing. */
const YOUNG_GENERATION_MB = 4;
/** A thread that ended is started again after this long (ms). */
const RESTART_MS = 5_000;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

type HistoryTools = { readonly clock: Clock; readonly log: Log };

/**
 * The history, in a thread of its own: a slow disk or a long query never stops the main thread. A thread that ends is started again, and
 * what it had not saved is lost: ten seconds at most.
 */
export class History {
  private readonly start: HistoryStart;
  private readonly tools: HistoryTools;
  private thread: Worker | null = null;
  private unavailable: string | null = null;
  private ended = false;
  private nextId = 1;
  private readonly waiting = new Map<number, (answer: HistoryAnswer) => void>();

  constructor(start: HistoryStart, tools: HistoryTools) {
    this.start = start;
    this.tools = tools;
    this.spawn();
  }

  /** Why it can't be read or saved; null if it can. */
  get failure(): string | null {
    return this.thread === null ? 'its thread is being restarted' : this.unavailable;
  }

  add(reports: readonly DomainReport[]): void {
    if (reports.length > 0) this.post({ kind: 'add', reports });
  }

  answer(host: string, range: Range, format: Format): Promise<HistoryAnswer> {
    return this.request((id) => ({ kind: 'answer', id, host, range, format }));
  }

  /** Removes everything about a host. */
  forget(host: string): Promise<HistoryAnswer> {
    return this.request((id) => ({ kind: 'forget', id, host }));
  }

  /** Saves the last counts and ends. */
  async close(): Promise<void> {
    this.ended = true;
    const { thread } = this;
    if (thread === null) return;
    this.post({ kind: 'close' });
    await Promise.race([once(thread, 'exit'), sleep(this.tools.clock, CLOSE_MS)]);
    await thread.terminate();
  }

  private request(message: (id: number) => ToHistory): Promise<HistoryAnswer> {
    const id = this.nextId++;
    return new Promise((resolve) => {
      const cancel = this.tools.clock.after(ANSWER_MS, () => done({ kind: 'unavailable', reason: 'the history takes too long to answer' }));
      const done = (answer: HistoryAnswer): void => {
        cancel();
        this.waiting.delete(id);
        resolve(answer);
      };
      this.waiting.set(id, done);
      if (this.thread === null) done({ kind: 'unavailable', reason: 'the history thread is being restarted' });
      else this.post(message(id));
    });
  }

  private post(message: ToHistory): void {
    this.thread?.postMessage(message);
  }

  private spawn(): void {
    const thread = new Worker(ENTRY, { workerData: this.start, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });
    this.thread = thread;
    this.unavailable = null;
    // It has nothing to do that the process would have to wait for.
    thread.unref();
    thread.on('message', (message: FromHistory) => {
      if (message.kind === 'answer') this.waiting.get(message.id)?.(message.answer);
      else if (message.kind === 'state') this.unavailable = message.failure;
      else this.tools.log[message.level](message.fields, message.message);
    });
    thread.on('error', (error) => this.tools.log.error({ error: String(error) }, 'the history thread failed'));
    thread.on('exit', () => {
      this.thread = null;
      for (const done of [...this.waiting.values()]) done({ kind: 'unavailable', reason: 'the history thread has ended' });
      if (!this.ended) this.tools.clock.after(RESTART_MS, () => !this.ended && this.spawn());
    });
  }
}
