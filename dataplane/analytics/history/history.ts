import { type Clock, sleep } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { startThread, type Thread } from '../../../shared/runtime/start-thread.ts';
import { type DomainReport, UNROUTED } from '../../traffic/protocol.ts';
import type { AnswerFormat, HistoryAnswer } from './keeper.ts';
import type { FromHistory, HistoryStart, ToHistory } from './messages.ts';
import type { RangeQuery } from './range.ts';

/** How long an answer may take (ms). */
const ANSWER_MS = 10_000;
/** How long a deletion may take (ms): 500 MB take some 10 s, as long as it takes to rewrite a file of an earlier version. */
const FORGET_MS = 60_000;
/** How long the last counts may take to be saved (ms). */
const CLOSE_MS = 5_000;
/** Size of the thread's young generation (MB): more costs memory and gains nothing. */
const YOUNG_GENERATION_MB = 4;
/** A thread that failed is started again after this long (ms). */
const RESTART_MS = 5_000;
/** The thread is first started this long after the process (ms), so that it delays no request and a file that can't be used is noticed. */
const FIRST_MS = 5_000;
/** A thread that has had nothing to do for this long is ended (ms). */
const IDLE_MS = 60_000;
/** How often the thread is started without a reason, so that it deletes what is too old (ms). */
const SWEEP_MS = 3_600_000;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`./thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

const exitOf = (thread: Thread): Promise<unknown> => new Promise((resolve) => thread.once('exit', resolve));
type Question = Extract<ToHistory, { readonly id: number }>;

type HistoryTools = { readonly clock: Clock; readonly log: Log };

/**
 * The history, in a thread of its own, so that a slow disk or a long query never stops the main thread. It runs while there is something to
 * do. A thread that fails is started again; counts that it had not saved are lost, ten seconds at most.
 */
export class History {
  private readonly start: HistoryStart;
  private readonly tools: HistoryTools;
  private thread: Thread | null = null;
  /** The thread has failed, and will be started again. */
  private failed = false;
  /** Messages for a thread that is ending; null if none is. */
  private queued: ToHistory[] | null = null;
  private usedAt: number;
  private unavailable: string | null = null;
  private ended = false;
  private readonly stops: readonly (() => void)[];
  private nextId = 1;
  /**
   * Questions for the thread, which gets one at a time: one that nobody waits for any more costs nothing, and none delays counts. Deletions,
   * which take many steps, delay none of them.
   */
  private readonly questions = new Map<number, Question>();
  private asked: number | null = null;
  /** Deletions in progress, also those that nobody waits for any more. */
  private readonly deleting = new Set<number>();
  private readonly waiting = new Map<number, (answer: HistoryAnswer) => void>();

  constructor(start: HistoryStart, tools: HistoryTools) {
    this.start = start;
    this.tools = tools;
    const { clock } = tools;
    this.usedAt = clock.monotonic();
    this.stops = [
      clock.after(FIRST_MS, () => this.wake()),
      clock.every(SWEEP_MS, () => this.wake()),
      clock.every(IDLE_MS / 4, () => this.endIfIdle()),
    ];
  }

  /** Whether its thread runs. */
  get running(): boolean {
    return this.thread !== null;
  }

  /** Why it can't be read or saved; null if it can. */
  get failure(): string | null {
    return this.failed ? 'its thread is being restarted' : this.unavailable;
  }

  /** Connections that are passed through and requests without a route are no visits. */
  add(reports: readonly DomainReport[]): void {
    const visits = reports.filter(({ host }) => host !== UNROUTED);
    if (visits.length > 0) this.post({ kind: 'add', reports: visits });
  }

  answer(host: string, range: RangeQuery, format: AnswerFormat): Promise<HistoryAnswer> {
    return this.request((id) => ({ kind: 'answer', id, host, range, format }));
  }

  /** Removes everything about a host. A deletion that takes too long to wait for goes on. */
  forget(host: string): Promise<HistoryAnswer> {
    return this.request((id) => ({ kind: 'forget', id, host }), FORGET_MS);
  }

  /** Saves the last counts and ends. */
  async close(): Promise<void> {
    this.ended = true;
    for (const stop of this.stops) stop();
    const { thread, queued } = this;
    if (thread === null) return;
    // A thread that is ending handles everything from before; the next thread handles everything since.
    if (queued !== null) {
      await Promise.race([exitOf(thread), sleep(this.tools.clock, CLOSE_MS)]);
      return queued.length > 0 && this.thread !== null ? this.close() : undefined;
    }
    thread.postMessage({ kind: 'close' } satisfies ToHistory);
    await Promise.race([exitOf(thread), sleep(this.tools.clock, CLOSE_MS)]);
    await thread.terminate();
  }

  private request(message: (id: number) => Question, limitMs = ANSWER_MS): Promise<HistoryAnswer> {
    const id = this.nextId++;
    return new Promise((resolve) => {
      const cancel = this.tools.clock.after(limitMs, () => done({ kind: 'unavailable', reason: 'the history takes too long to answer' }));
      const done = (answer: HistoryAnswer): void => {
        cancel();
        this.waiting.delete(id);
        this.questions.delete(id);
        resolve(answer);
      };
      this.waiting.set(id, done);
      if (this.failed) done({ kind: 'unavailable', reason: 'the history thread is being restarted' });
      else this.ask(message(id));
    });
  }

  private ask(question: Question): void {
    if (question.kind === 'forget') {
      this.deleting.add(question.id);
      return this.post(question);
    }
    this.questions.set(question.id, question);
    this.askNext();
  }

  private askNext(): void {
    if (this.asked !== null) return;
    for (const [id, question] of this.questions) {
      this.questions.delete(id);
      this.asked = id;
      return this.post(question);
    }
  }

  private answered(id: number, answer: HistoryAnswer): void {
    if (this.asked === id) this.asked = null;
    this.deleting.delete(id);
    this.waiting.get(id)?.(answer);
    this.askNext();
  }

  /** Starts the thread for it if none runs. Messages that arrive after a thread has failed are lost. */
  private post(message: ToHistory): void {
    if (this.queued !== null) return void this.queued.push(message);
    this.wake();
    this.thread?.postMessage(message);
  }

  private wake(): void {
    this.usedAt = this.tools.clock.monotonic();
    if (this.thread === null && !this.failed && !this.ended) this.spawn();
  }

  /** The thread saves its counts and ends. One that can't save goes on trying. */
  private endIfIdle(): void {
    const { thread, tools, usedAt, waiting, deleting, queued } = this;
    if (thread === null || queued !== null || waiting.size + deleting.size > 0 || this.unavailable !== null) return;
    if (tools.clock.monotonic() - usedAt < IDLE_MS) return;
    this.queued = [];
    thread.postMessage({ kind: 'close' } satisfies ToHistory);
  }

  private spawn(): Thread {
    const thread = startThread(ENTRY, { workerData: this.start, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });
    this.thread = thread;
    this.unavailable = null;
    // The process need not wait for it.
    thread.unref();
    thread.on('message', (message: FromHistory) => {
      if (message.kind === 'answer') this.answered(message.id, message.answer);
      else if (message.kind === 'state') {
        // A thread that ends has closed its file, so this is not a failure.
        if (this.queued === null) this.unavailable = message.failure;
      } else this.tools.log[message.level](message.fields, message.message);
    });
    thread.on('error', (error) => this.tools.log.error({ error: String(error) }, 'the history thread failed'));
    thread.on('exit', () => this.exited());
    return thread;
  }

  private exited(): void {
    const { queued } = this;
    this.thread = null;
    this.queued = null;
    if (!queued?.some((message) => 'id' in message && message.id === this.asked)) this.asked = null;
    // It was told to end, and has saved everything.
    if (queued !== null) {
      if (queued.length > 0) {
        const next = this.spawn();
        for (const message of queued) next.postMessage(message);
      }
      return;
    }
    this.deleting.clear();
    for (const done of [...this.waiting.values()]) done({ kind: 'unavailable', reason: 'the history thread has ended' });
    if (this.ended) return;
    this.failed = true;
    this.tools.clock.after(RESTART_MS, () => {
      this.failed = false;
      this.wake();
    });
  }
}
