import { Worker } from 'node:worker_threads';
import type { Clock } from '../../shared/runtime/clock.ts';
import { sleep } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type {
  DryRun,
  DryRunResult,
  FromWorker,
  Publication,
  TargetChange,
  ToWorker,
  TrafficReport,
  WholeState,
  WorkerStart,
} from '../traffic/protocol.ts';
import type { Heap } from './memory-watchdog.ts';
import { Watchdog } from './watchdog.ts';

/** How long a worker may take from its start to its first request (ms). */
const START_MS = 30_000;
/** How long one that dies young waits before the next try (ms), doubled up to the second figure. */
const BACKOFF_MS = 100;
const BACKOFF_MAX_MS = 5_000;
const YOUNG_MS = 5_000;
/** Room for short-lived objects in a worker (MB). More makes no difference to its speed, only to its size. */
const YOUNG_GENERATION_MB = 8;
/** How long counters and dry runs are waited for (ms). */
const REPLY_TIMEOUT_MS = 500;

/** In this repository a worker runs as it is written; where it was built, the built one. */
const ENTRY = new URL(`../traffic/worker/worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

export type WorkerPoolOptions = {
  readonly count: number;
  readonly ledger: Ledger;
  readonly hashKey: Uint8Array;
  readonly clock: Clock;
  readonly log: Log;
  /** Everything that is published now: what a new worker starts with. */
  state(): WholeState;
  onReport(report: TrafficReport): void;
  onTarget(change: TargetChange): void;
  onAwaited(name: string): void;
  onChange(worker: number, state: 'started' | 'replaced' | 'retired' | 'died', reason: string): void;
};

type WorkerHandle = {
  readonly id: number;
  readonly slot: number;
  readonly thread: Worker;
  readonly startedAt: number;
  serving: boolean;
  /** The newest generation that it serves. */
  generation: number;
  /** Its successor serves: it takes no more connections and ends with the last one it has. */
  leaving: boolean;
  /** It is to replace another and does not yet count as one of the workers. */
  successor: boolean;
  /** It could not open its port. */
  refusal: ListenError | null;
  /** It could not open another one when it was told to, and listens where it did. */
  unmoved: ListenError | null;
  /** Why it is being ended; empty while it should live. */
  ending: string;
};

/** A worker can't open its port: a matter for whoever started us, not for a restart. */
export class ListenError extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The traffic workers: started, watched, replaced, drained. */
export class WorkerPool {
  restarts = 0;
  private readonly options: WorkerPoolOptions;
  private readonly members = new Map<number, WorkerHandle>();
  private readonly watchdog: Watchdog;
  private readonly waiters = new Set<() => void>();
  private readonly answers = new Map<number, (message: FromWorker) => void>();
  private nextId = 1;
  private nextRequest = 1;
  private earlyDeaths = 0;
  /** Whether the ports could be opened at the start: one that can't be later is tried again. */
  private started = false;
  private stopping = false;
  private stopWatching: () => void = () => undefined;
  /** Replacements take place one after the other. */
  private replacing: Promise<unknown> = Promise.resolve();

  constructor(parts: WorkerPoolOptions) {
    this.options = parts;
    this.watchdog = new Watchdog(parts.clock, parts.ledger.heartbeats);
  }

  /** Ledger columns for `count` workers: each may have a successor beside it. */
  static slots(count: number): number {
    return count * 2;
  }

  get serving(): number {
    return this.accepting().length;
  }

  /** Starts all of them. @throws ListenError when a port can't be opened. */
  async start(): Promise<void> {
    const started = Array.from({ length: this.options.count }, () => this.spawn());
    const refusal = () => started.find((member) => member.refusal !== null)?.refusal ?? null;
    await this.waitUntil(() => refusal() !== null || this.serving === this.options.count, START_MS);
    const refused = refusal();
    if (refused !== null) throw refused;
    if (this.serving === 0) throw new ListenError('', 'no worker came up within 30 s; the log says why');
    this.started = true;
    this.stopWatching = this.options.clock.every(Watchdog.PERIOD_MS, () => this.endSilent());
  }

  /** Why a worker does not listen where the settings say that were published last; null where all do. */
  get unmoved(): ListenError | null {
    return this.accepting().find((member) => member.unmoved !== null)?.unmoved ?? null;
  }

  /**
   * Replaces a worker by one that starts with what is published now: its successor serves before it takes no more
   * connections, and it ends after its last, `withinMs` later at most. Does nothing when it is gone.
   * @throws ListenError when the successor can't open its port; then nothing has changed.
   */
  replace(worker: number, withinMs: number): Promise<void> {
    const replaced = this.replacing.then(() => this.replaceNow(worker, withinMs));
    this.replacing = replaced.catch(() => undefined);
    return replaced;
  }

  private async replaceNow(worker: number, withinMs: number): Promise<void> {
    const old = () => this.staying().find(({ id }) => id === worker);
    if (old() === undefined) return;
    await this.waitForSlot(withinMs);
    if (this.stopping) return;
    const successor = this.spawn(true);
    await this.waitUntil(() => this.stopping || !this.isAlive(successor) || successor.serving, START_MS);
    if (this.stopping) return;
    if (!this.isAlive(successor) || !successor.serving) {
      this.terminate(successor, 'the replacement is called off');
      this.spawnMissing();
      throw successor.refusal ?? new ListenError('', 'the new worker did not come up');
    }
    successor.successor = false;
    const member = old();
    if (member !== undefined) this.retire(member, withinMs);
    // Another one may have died while the successor counted as well.
    this.spawnMissing();
  }

  /** Those that were replaced earlier may still be leaving: each has a column of the ledger. */
  private async waitForSlot(withinMs: number): Promise<void> {
    const room = () => this.stopping || this.members.size < WorkerPool.slots(this.options.count);
    await this.waitUntil(room, withinMs);
    if (!room()) for (const member of this.members.values()) if (member.leaving) this.terminate(member, 'its time is up');
    await this.waitUntil(room, START_MS);
  }

  private retire(member: WorkerHandle, withinMs: number): void {
    member.leaving = true;
    if (!member.serving) return this.terminate(member, 'its successor was there first');
    this.post(member, { kind: 'drain', patient: true });
    this.options.clock.after(withinMs, () => {
      if (this.isAlive(member)) this.terminate(member, 'its time is up');
    });
  }

  /** Starts as many as are missing. Where one of those that are to be replaced dies, its successor is on its way already. */
  private spawnMissing(): void {
    while (!this.stopping && this.staying().length < this.options.count) this.spawn();
  }

  /** Those that are here to stay, as far as is known now. */
  private staying(): WorkerHandle[] {
    return [...this.members.values()].filter((member) => member.ending === '' && !member.leaving);
  }

  /** Those that take connections. */
  private accepting(): WorkerHandle[] {
    return this.staying().filter((member) => member.serving && !member.successor);
  }

  private isAlive(member: WorkerHandle): boolean {
    return this.members.has(member.id) && member.ending === '';
  }

  broadcast(publication: Publication): void {
    for (const member of this.members.values()) this.post(member, { kind: 'publish', publication });
  }

  /** The ledger has a verdict by which requests may go on that wait for a target. */
  broadcastVerdicts(): void {
    for (const member of this.members.values()) this.post(member, { kind: 'verdicts' });
  }

  /** Resolves with true when every worker serves the generation, with false after `withinMs`. */
  whenServed(generation: number, withinMs: number): Promise<boolean> {
    return this.waitUntil(
      () => [...this.members.values()].every((member) => member.ending !== '' || member.generation >= generation),
      withinMs,
    );
  }

  /** Has every worker hand over what it has counted. A worker that is silent is not waited for. */
  async collect(): Promise<void> {
    const live = [...this.members.values()].filter((member) => member.serving && member.ending === '');
    await Promise.all(live.map((member) => this.request(member, (id) => ({ kind: 'report', id }))));
  }

  /** How much of its heap each worker uses (bytes). One that does not answer in time is left out. */
  async heaps(): Promise<Heap[]> {
    const asked = this.accepting().map(async ({ id, thread }): Promise<Heap[]> => {
      const answer = await Promise.race([thread.getHeapStatistics(), sleep(this.options.clock, REPLY_TIMEOUT_MS)]).catch(() => undefined);
      return answer === undefined ? [] : [{ worker: id, used: answer.used_heap_size, limit: answer.heap_size_limit }];
    });
    return (await Promise.all(asked)).flat();
  }

  /** Asks one worker what it would do. @returns null when none answers in time. */
  async dryRun(request: DryRun): Promise<DryRunResult | null> {
    const member = [...this.members.values()].find((candidate) => candidate.serving && candidate.ending === '');
    if (member === undefined) return null;
    const answer = await this.request(member, (id) => ({ kind: 'dry-run', id, request }));
    return answer?.kind === 'dry-run' ? answer.result : null;
  }

  /** Lets every worker finish what it has, for `withinMs` at most, and ends them. */
  async drain(withinMs: number, patient = false): Promise<void> {
    this.stopping = true;
    for (const member of this.members.values()) this.post(member, { kind: 'drain', patient });
    await this.waitUntil(() => this.members.size === 0, withinMs);
    await this.stop();
  }

  /** Ends every worker at once. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.stopWatching();
    await Promise.all([...this.members.values()].map((member) => member.thread.terminate()));
  }

  private spawn(successor = false): WorkerHandle {
    const { options: parts } = this;
    const id = this.nextId++;
    const slot = this.freeSlot();
    const state = parts.state();
    const workerData: WorkerStart = { worker: id, slot, ledger: parts.ledger.buffers, state, hashKey: parts.hashKey };
    const thread = new Worker(ENTRY, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB } });
    const member: WorkerHandle = {
      id,
      slot,
      thread,
      startedAt: parts.clock.monotonic(),
      serving: false,
      generation: state.generation,
      ending: '',
      leaving: false,
      successor,
      refusal: null,
      unmoved: null,
    };
    this.members.set(id, member);
    this.watchdog.expect(slot);
    let fault = '';
    thread.on('message', (message: FromWorker) => this.handleMessage(member, message));
    thread.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    thread.on('exit', (code) => this.handleExit(member, fault || `exit code ${code}`));
    return member;
  }

  private handleMessage(member: WorkerHandle, message: FromWorker): void {
    switch (message.kind) {
      case 'serving':
        member.serving = true;
        member.generation = Math.max(member.generation, message.generation);
        this.options.onChange(member.id, 'started', '');
        break;
      case 'acknowledged':
        if (message.refused !== undefined)
          member.unmoved = message.refused && new ListenError(message.refused.code, message.refused.message);
        member.generation = Math.max(member.generation, message.generation);
        break;
      case 'report':
        this.options.onReport(message.report);
        if (message.id !== null) this.answers.get(message.id)?.(message);
        break;
      case 'dry-run':
        this.answers.get(message.id)?.(message);
        break;
      case 'target':
        this.options.onTarget(message.change);
        break;
      case 'awaited':
        this.options.onAwaited(message.name);
        break;
      case 'log':
        this.options.log[message.level]({ worker: member.id, ...message.fields }, message.message);
        break;
      case 'drained':
        this.terminate(member, 'drained');
        break;
      case 'refused':
        member.refusal = new ListenError(message.code, message.message);
        this.terminate(member, message.message);
    }
    this.recheck();
  }

  private handleExit(member: WorkerHandle, reason: string): void {
    const { options: parts } = this;
    this.members.delete(member.id);
    parts.ledger.inFlight.clear(member.slot);
    parts.ledger.connections.clearWorker(member.slot);
    parts.ledger.targets.clearWorker(member.slot);
    parts.ledger.passwordChecks.clearWorker(member.slot);
    this.recheck();
    if (this.stopping || member.successor || (member.refusal !== null && !this.started)) return;
    if (member.leaving) return parts.onChange(member.id, 'retired', member.ending || reason);
    this.restarts++;
    const silent = member.ending !== '' && member.refusal === null;
    const why = member.ending || reason;
    parts.onChange(member.id, silent ? 'replaced' : 'died', why);
    parts.log.error({ worker: member.id, reason: why }, silent ? 'worker replaced' : 'worker died, starting another');
    const young = parts.clock.monotonic() - member.startedAt < YOUNG_MS;
    this.earlyDeaths = young ? this.earlyDeaths + 1 : 0;
    const wait = this.earlyDeaths < 2 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (this.earlyDeaths - 2));
    void sleep(parts.clock, wait).then(() => this.spawnMissing());
  }

  private endSilent(): void {
    const now = this.options.clock.monotonic();
    const silent = this.watchdog.check([...this.members.values()].filter((member) => member.serving).map((member) => member.slot));
    for (const member of this.members.values()) {
      if (member.ending !== '') continue;
      if (silent.has(member.slot)) this.terminate(member, 'it was silent for 2 s');
      else if (!member.serving && now - member.startedAt > START_MS) this.terminate(member, 'it did not start');
    }
  }

  private terminate(member: WorkerHandle, reason: string): void {
    member.ending = reason;
    void member.thread.terminate();
  }

  private post(member: WorkerHandle, message: ToWorker): void {
    if (member.ending === '') member.thread.postMessage(message);
  }

  private async request(member: WorkerHandle, question: (id: number) => ToWorker): Promise<FromWorker | null> {
    const id = this.nextRequest++;
    let answer: FromWorker | null = null;
    this.answers.set(id, (message) => {
      answer = message;
      this.recheck();
    });
    this.post(member, question(id));
    await this.waitUntil(() => answer !== null || !this.members.has(member.id), REPLY_TIMEOUT_MS);
    this.answers.delete(id);
    return answer;
  }

  private freeSlot(): number {
    const taken = new Set([...this.members.values()].map((member) => member.slot));
    for (let slot = 0; slot < WorkerPool.slots(this.options.count); slot++) if (!taken.has(slot)) return slot;
    throw new Error('more workers than columns in the ledger');
  }

  /** Waits for a condition that any message may bring about. @returns whether it came within `withinMs`. */
  private waitUntil(met: () => boolean, withinMs: number): Promise<boolean> {
    if (met()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (result: boolean) => {
        this.waiters.delete(look);
        cancel();
        resolve(result);
      };
      const look = () => {
        if (met()) settle(true);
      };
      const cancel = this.options.clock.after(withinMs, () => settle(met()));
      this.waiters.add(look);
    });
  }

  private recheck(): void {
    for (const look of [...this.waiters]) look();
  }
}
