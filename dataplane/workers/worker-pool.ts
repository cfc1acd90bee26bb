import { join } from 'node:path';
import { sleep } from '../../shared/runtime/clock.ts';
import { startThread } from '../../shared/runtime/start-thread.ts';
import { usableMemory } from '../../shared/runtime/thread-memory.ts';
import type { DryRun, DryRunResult, FromWorker, IdleClose, Publication, ToWorker, WorkerStart } from '../traffic/protocol.ts';
import { Conditions } from './conditions.ts';
import { FreeSlots } from './free-slots.ts';
import { ListenerOffer } from './listener-offer.ts';
import type { Heap } from './memory-watchdog.ts';
import { ANSWER_MS, Questions } from './questions.ts';
import { Watchdog } from './watchdog.ts';
import { ListenError, WorkerHandle } from './worker-handle.ts';
import type { WorkerPoolOptions } from './worker-pool-options.ts';

/** How long a worker may take from its start to its first request (ms). */
const START_MS = 30_000;
/** Backoff after early deaths (ms), doubled up to the maximum; a death is early within `EARLY_DEATH_MS` of the start. */
const BACKOFF_MS = 100;
const BACKOFF_MAX_MS = 5_000;
const EARLY_DEATH_MS = 5_000;
/** Size of the young generation in a worker (MB). A larger one costs memory and gains no speed. */
const YOUNG_GENERATION_MB = 8;
/** How long the successor of a worker that hangs may take to serve (ms). */
const SUCCESSOR_MS = 5_000;
/** How long a worker that has recovered meanwhile may drain (ms). */
const RECOVERED_MS = 30_000;

/** The TypeScript source in the repository, the compiled file in `dist/`. */
const ENTRY = new URL(`../traffic/worker/worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

type SpawnOptions = {
  /** Whether it takes the place of another one, which serves until then. */
  readonly successor?: boolean;
  /** The Unix socket through which it gets listening sockets; null: it opens its own. */
  readonly listenersFrom?: string | null;
  /** Of the ledger; a free one if absent. */
  readonly slot?: number;
};

/** Starts, monitors, replaces and drains the traffic workers. */
export class WorkerPool {
  restarts = 0;
  private readonly options: WorkerPoolOptions;
  private readonly members = new Map<number, WorkerHandle>();
  private readonly freeSlots: FreeSlots;
  private readonly watchdog: Watchdog;
  /** Conditions that the messages of workers may meet. */
  private readonly messages: Conditions;
  private readonly questions: Questions;
  private nextId = 1;
  private earlyDeaths = 0;
  /** Whether startup succeeded. A port that can't be opened later is retried. */
  private started = false;
  private stopping = false;
  private stopWatching: () => void = () => undefined;
  /** Serializes replacements. */
  private replacing: Promise<unknown> = Promise.resolve();

  constructor(parts: WorkerPoolOptions) {
    this.options = parts;
    this.freeSlots = new FreeSlots(WorkerPool.slots(parts.count));
    this.messages = new Conditions(parts.clock);
    this.questions = new Questions(this.messages);
    this.watchdog = new Watchdog(parts.clock, parts.ledger.heartbeats);
  }

  /** Ledger slots for `count` workers, each with a possible successor. */
  static slots(count: number): number {
    return count * 2;
  }

  get serving(): number {
    return this.accepting().length;
  }

  /**
   * Starts all workers. `listenersFrom`: the Unix socket through which the workers of a predecessor pass their listening sockets.
   * @throws ListenError if a port can't be opened.
   */
  async start(listenersFrom: string | null = null): Promise<void> {
    const started = Array.from({ length: this.options.count }, () => this.spawn({ listenersFrom }));
    const refusal = () => started.find((member) => member.refusal !== null)?.refusal ?? null;
    await this.messages.until(() => refusal() !== null || this.serving === this.options.count, START_MS);
    const refused = refusal();
    if (refused !== null) throw refused;
    if (this.serving === 0) throw new ListenError('', 'no worker came up within 30 s; the log says why');
    this.started = true;
    this.stopWatching = this.options.clock.every(Watchdog.PERIOD_MS, () => this.endSilent());
  }

  /** Why a worker does not listen on the published port; null if all do. */
  get unmoved(): ListenError | null {
    return this.accepting().find((member) => member.unmoved !== null)?.unmoved ?? null;
  }

  /**
   * Replaces a worker. Once the successor serves, the old worker accepts no more connections and ends after its last one,
   * or after `withinMs`. Does nothing if the worker is gone, or is being replaced because it hangs.
   * @throws ListenError if the successor can't open its port; then nothing has changed.
   */
  replace(worker: number, withinMs: number): Promise<void> {
    const replaced = this.replacing.then(() => this.replaceNow(worker, withinMs));
    this.replacing = replaced.catch(() => undefined);
    return replaced;
  }

  private async replaceNow(worker: number, withinMs: number): Promise<void> {
    const find = () => this.staying().find(({ id, replacing }) => id === worker && !replacing);
    if (find() === undefined) return;
    await this.waitForSlot(withinMs);
    const old = find();
    if (old === undefined || this.stopping) return;
    const successor = await this.startSuccessor(old, START_MS);
    if (!this.isAlive(successor) || !successor.serving) {
      successor.terminate('the replacement was cancelled');
      if (this.stopping) return;
      this.spawnMissing();
      throw successor.refusal ?? new ListenError('', 'the new worker did not start');
    }
    successor.successor = false;
    if (this.isAlive(old)) this.retire(old, withinMs);
    // Another worker may have died while the successor was counted.
    this.spawnMissing();
  }

  /** Starts a worker that continues with the listening sockets of another one, and waits until it serves or has failed. */
  private async startSuccessor(member: WorkerHandle, withinMs: number): Promise<WorkerHandle> {
    const { socketDir } = this.options;
    const path = socketDir && join(socketDir, `worker-${member.id}-listeners.sock`);
    member.replacing = true;
    const slot = this.freeSlots.take();
    const offer = path && (await this.offerListeners(path, member.id));
    try {
      const successor = this.spawn({ successor: true, listenersFrom: offer ? offer.path : null, slot });
      await this.messages.until(() => this.stopping || !this.isAlive(successor) || successor.serving, withinMs);
      return successor;
    } finally {
      member.replacing = false;
      if (offer) offer.close();
    }
  }

  /**
   * Offers the listening sockets of all workers, or only of one, to successors that connect to a Unix socket.
   * @returns null if it can't be opened.
   */
  offerListeners(path: string, only: number | null = null): Promise<ListenerOffer | null> {
    const offering = this.accepting().filter(({ id }) => only === null || id === only);
    const sets = offering.map(({ listeners }) => listeners);
    return ListenerOffer.open(path, sets, this.options.log);
  }

  /** Workers replaced earlier may still be draining, each with a slot of the ledger. */
  private async waitForSlot(withinMs: number): Promise<void> {
    const room = () => this.stopping || !this.freeSlots.none;
    await this.messages.until(room, withinMs);
    if (!room()) for (const member of this.members.values()) if (member.leaving) member.terminate('its drain time is over');
    await this.messages.until(room, START_MS);
  }

  private retire(member: WorkerHandle, withinMs: number): void {
    member.leaving = true;
    if (!member.serving) return member.terminate('its successor already serves');
    member.post({ kind: 'drain', idleClose: 'on-response' });
    this.options.clock.after(withinMs, () => {
      if (this.isAlive(member)) member.terminate('its drain time is over');
    });
  }

  /** Starts the missing workers. If a worker dies while being replaced, its successor is already starting. */
  private spawnMissing(): void {
    while (!this.stopping && this.staying().length < this.options.count && !this.freeSlots.none) this.spawn();
  }

  /** Workers that are neither draining nor being terminated. */
  private staying(): WorkerHandle[] {
    return [...this.members.values()].filter((member) => member.ending === '' && !member.leaving);
  }

  /** Workers that accept connections. */
  private accepting(): WorkerHandle[] {
    return this.staying().filter((member) => member.serving && !member.successor);
  }

  private isAlive(member: WorkerHandle): boolean {
    return this.members.has(member.id) && member.ending === '';
  }

  broadcast(publication: Publication): void {
    for (const member of this.members.values()) member.post({ kind: 'publish', publication });
  }

  /** Notifies workers of a new health status in the ledger, for requests that wait for a target. */
  broadcastVerdicts(): void {
    for (const member of this.members.values()) member.post({ kind: 'verdicts' });
  }

  /** Sends a message to one worker, or to all (null). */
  send(message: Extract<ToWorker, { kind: 'cache' | 'bot' }>, only: number | null): void {
    for (const member of this.members.values()) if (only === null || member.id === only) member.post(message);
  }

  /** Resolves with true when every worker has carried out the purge, or false after `withinMs`. */
  whenPurged(purged: number, withinMs: number): Promise<boolean> {
    const did = (member: WorkerHandle): boolean => member.ending !== '' || member.purged >= purged;
    return this.messages.until(() => [...this.members.values()].every(did), withinMs);
  }

  /** Resolves with true when every worker serves the generation, or false after `withinMs`. */
  whenServed(generation: number, withinMs: number): Promise<boolean> {
    const serves = (member: WorkerHandle): boolean => member.ending !== '' || member.generation >= generation;
    return this.messages.until(() => [...this.members.values()].every(serves), withinMs);
  }

  /** Collects the counters of every worker. Does not wait for a silent worker. */
  async collect(): Promise<void> {
    const live = [...this.members.values()].filter((member) => member.serving && member.ending === '');
    await Promise.all(live.map((member) => this.ask(member, (id) => ({ kind: 'report', id }))));
  }

  /** Heap usage of each worker (bytes), without those that do not answer in time. */
  async heaps(): Promise<Heap[]> {
    const readings = this.accepting().map(async ({ id, thread }): Promise<Heap[]> => {
      const answer = await Promise.race([thread.getHeapStatistics(), sleep(this.options.clock, ANSWER_MS)]).catch(() => undefined);
      return answer === undefined ? [] : [{ worker: id, used: answer.used_heap_size, limit: answer.heap_size_limit }];
    });
    return (await Promise.all(readings)).flat();
  }

  /** Seconds that each worker's event loop has been busy since the worker started, by its slot. */
  busySeconds(): (readonly [slot: number, seconds: number])[] {
    return this.accepting().map(({ slot, thread }) => [slot, thread.performance.eventLoopUtilization().active / 1_000]);
  }

  /** Runs a dry run in one worker. @returns null if it does not answer in time. */
  async dryRun(request: DryRun): Promise<DryRunResult | null> {
    const member = [...this.members.values()].find((candidate) => candidate.serving && candidate.ending === '');
    if (member === undefined) return null;
    const answer = await this.ask(member, (id) => ({ kind: 'dry-run', id, request }));
    return answer?.kind === 'dry-run' ? answer.result : null;
  }

  /** Drains every worker for up to `withinMs`, then terminates them. */
  async drain(withinMs: number, idleClose: IdleClose = 'now'): Promise<void> {
    this.stopping = true;
    for (const member of this.members.values()) member.post({ kind: 'drain', idleClose });
    await this.messages.until(() => this.members.size === 0, withinMs);
    await this.stop();
  }

  /** Terminates every worker immediately. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.stopWatching();
    await Promise.all([...this.members.values()].map((member) => member.thread.terminate()));
  }

  private spawn({ successor = false, listenersFrom = null, slot = this.freeSlots.take() }: SpawnOptions = {}): WorkerHandle {
    const { options: parts } = this;
    const id = this.nextId++;
    const state = parts.state();
    const { count, ledger, hashKey, countries } = parts;
    const memoryBytes = usableMemory() / count;
    const workerData: WorkerStart = { worker: id, slot, ledger: ledger.buffers, state, listenersFrom, memoryBytes, hashKey, countries };
    const thread = startThread(parts.entry ?? ENTRY, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });
    const member = new WorkerHandle(thread, { id, slot, successor, generation: state.generation, startedAt: parts.clock.monotonic() });
    this.members.set(id, member);
    this.watchdog.forget(slot);
    let fault = '';
    thread.on('message', (message: FromWorker) => this.handleMessage(member, message));
    thread.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    thread.on('exit', (code) => this.handleExit(member, fault || `exit code ${code}`));
    return member;
  }

  private handleMessage(member: WorkerHandle, message: FromWorker): void {
    member.note(message);
    this.passOn(member, message);
    this.messages.recheck();
  }

  /** Passes on what a message says about anything but the worker itself. */
  private passOn(member: WorkerHandle, message: FromWorker): void {
    const { options } = this;
    switch (message.kind) {
      case 'serving':
        return options.onChange(member.id, 'started', '');
      case 'report':
        options.onReport(message.report);
        // In another turn, so that other messages are not delayed.
        if (message.more) setImmediate(() => member.thread.postMessage({ kind: 'report-taken' } satisfies ToWorker));
        if (message.id !== null) this.questions.answered(message.id, message);
        break;
      case 'dry-run':
        return this.questions.answered(message.id, message);
      case 'target':
        return options.onTarget(message.change);
      case 'lost':
        return options.onLost(message.target);
      case 'awaited':
        return options.onAwaited(message.name);
      case 'bot-claimed':
        return options.onBotClaimed(member.id, message.claim);
      case 'key-wanted':
        return options.onKeyWanted(message.name);
      case 'access-log':
        return options.onAccessLog();
      case 'cache':
        if (message.message.kind !== 'purged') options.onCache(member.id, message.message);
        break;
      case 'log':
        options.log[message.level]({ worker: member.id, ...message.fields }, message.message);
    }
  }

  private handleExit(member: WorkerHandle, reason: string): void {
    const { options: parts } = this;
    this.members.delete(member.id);
    this.freeSlots.release(member.slot);
    parts.ledger.inFlight.clear(member.slot);
    // The others are of no more use after the last worker, and clearing them reads all of their pages.
    if (!this.stopping || this.members.size > 0) {
      const { connections, targets, passwordChecks } = parts.ledger;
      for (const counts of [connections, targets, passwordChecks]) counts.clearWorker(member.slot);
    }
    this.messages.recheck();
    if (this.stopping || (member.refusal !== null && !this.started)) return;
    if (member.leaving) parts.onChange(member.id, 'retired', member.ending || reason);
    // Another one may have waited for the slot.
    if (member.leaving || member.successor) return this.spawnMissing();
    this.restarts++;
    const silent = member.ending !== '' && member.refusal === null;
    const why = member.ending || reason;
    parts.onChange(member.id, silent ? 'replaced' : 'died', why);
    parts.log.error({ worker: member.id, reason: why }, silent ? 'worker replaced' : 'worker died, starting another');
    const young = parts.clock.monotonic() - member.startedAt < EARLY_DEATH_MS;
    this.earlyDeaths = young ? this.earlyDeaths + 1 : 0;
    const wait = this.earlyDeaths < 2 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (this.earlyDeaths - 2));
    void sleep(parts.clock, wait).then(() => this.spawnMissing());
  }

  private endSilent(): void {
    const now = this.options.clock.monotonic();
    const silent = this.watchdog.check([...this.members.values()].filter((member) => member.serving).map((member) => member.slot));
    for (const member of this.members.values()) {
      if (member.ending !== '') continue;
      if (silent.has(member.slot)) void this.replaceSilent(member);
      else if (!member.serving && now - member.startedAt > START_MS) member.terminate('it did not start');
    }
  }

  /**
   * A worker that hangs can't pass on anything, but its listening sockets are known: a successor gets them before they are closed, and serves
   * the connections that wait there. A worker that has recovered ends after its last connection, or stays if the successor fails.
   */
  private async replaceSilent(member: WorkerHandle): Promise<void> {
    if (member.replacing) return;
    if (!this.stopping && !member.leaving && !member.successor && !this.freeSlots.none) {
      const successor = await this.startSuccessor(member, SUCCESSOR_MS);
      const serves = this.isAlive(successor) && successor.serving;
      if (serves) successor.successor = false;
      else successor.terminate('it did not start in time');
      if (this.isAlive(member) && !this.watchdog.isSilent(member.slot)) return serves ? this.retire(member, RECOVERED_MS) : undefined;
    }
    if (this.members.has(member.id)) member.terminate('it was silent for 2 s');
    else this.spawnMissing();
  }

  private ask(member: WorkerHandle, question: (id: number) => ToWorker) {
    return this.questions.ask(member, question, () => !this.members.has(member.id));
  }
}
