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
const YOUNG_MB = 8;
/** How long counters and dry runs are waited for (ms). */
const ANSWER_MS = 500;

/** In this repository a worker runs as it is written; where it was built, the built one. */
const ENTRY = new URL(`../traffic/worker/worker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url);

export type WorkersParts = {
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

type Member = {
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
export class Workers {
  restarts = 0;
  private readonly parts: WorkersParts;
  private readonly members = new Map<number, Member>();
  private readonly watchdog: Watchdog;
  private readonly waiting = new Set<() => void>();
  private readonly answers = new Map<number, (message: FromWorker) => void>();
  private nextId = 1;
  private nextQuestion = 1;
  private youngDeaths = 0;
  /** Whether the ports could be opened at the start: one that can't be later is tried again. */
  private begun = false;
  private stopping = false;
  private stopWatching: () => void = () => undefined;
  /** Replacements take place one after the other. */
  private replacing: Promise<unknown> = Promise.resolve();

  constructor(parts: WorkersParts) {
    this.parts = parts;
    this.watchdog = new Watchdog(parts.clock, parts.ledger.heartbeats);
  }

  /** Ledger columns for `count` workers: each may have a successor beside it. */
  static slots(count: number): number {
    return count * 2;
  }

  get serving(): number {
    return this.current().length;
  }

  /** Starts all of them. @throws ListenError when a port can't be opened. */
  async start(): Promise<void> {
    const started = Array.from({ length: this.parts.count }, () => this.spawn());
    const refusal = () => started.find((member) => member.refusal !== null)?.refusal ?? null;
    await this.until(() => refusal() !== null || this.serving === this.parts.count, START_MS);
    const refused = refusal();
    if (refused !== null) throw refused;
    if (this.serving === 0) throw new ListenError('', 'no worker came up within 30 s; the log says why');
    this.begun = true;
    this.stopWatching = this.parts.clock.every(Watchdog.PERIOD_MS, () => this.watch());
  }

  /** Why a worker does not listen where the settings say that were published last; null where all do. */
  get unmoved(): ListenError | null {
    return this.current().find((member) => member.unmoved !== null)?.unmoved ?? null;
  }

  /**
   * Replaces a worker by one that starts with what is published now: its successor serves before it takes no more
   * connections, and it ends after its last, `withinMs` later at most. Does nothing when it is gone.
   * @throws ListenError when the successor can't open its port; then nothing has changed.
   */
  replace(worker: number, withinMs: number): Promise<void> {
    const replaced = this.replacing.then(() => this.succeed(worker, withinMs));
    this.replacing = replaced.catch(() => undefined);
    return replaced;
  }

  private async succeed(worker: number, withinMs: number): Promise<void> {
    const old = () => this.staying().find(({ id }) => id === worker);
    if (old() === undefined) return;
    await this.makeRoom(withinMs);
    if (this.stopping) return;
    const successor = this.spawn(true);
    await this.until(() => this.stopping || !this.lives(successor) || successor.serving, START_MS);
    if (this.stopping) return;
    if (!this.lives(successor) || !successor.serving) {
      this.end(successor, 'the replacement is called off');
      this.fill();
      throw successor.refusal ?? new ListenError('', 'the new worker did not come up');
    }
    successor.successor = false;
    const member = old();
    if (member !== undefined) this.leave(member, withinMs);
    // Another one may have died while the successor counted as well.
    this.fill();
  }

  /** Those that were replaced earlier may still be leaving: each has a column of the ledger. */
  private async makeRoom(withinMs: number): Promise<void> {
    const room = () => this.stopping || this.members.size < Workers.slots(this.parts.count);
    await this.until(room, withinMs);
    if (!room()) for (const member of this.members.values()) if (member.leaving) this.end(member, 'its time is up');
    await this.until(room, START_MS);
  }

  private leave(member: Member, withinMs: number): void {
    member.leaving = true;
    if (!member.serving) return this.end(member, 'its successor was there first');
    this.post(member, { kind: 'drain', patient: true });
    this.parts.clock.after(withinMs, () => {
      if (this.lives(member)) this.end(member, 'its time is up');
    });
  }

  /** Starts as many as are missing. Where one of those that are to be replaced dies, its successor is on its way already. */
  private fill(): void {
    while (!this.stopping && this.staying().length < this.parts.count) this.spawn();
  }

  /** Those that are here to stay, as far as is known now. */
  private staying(): Member[] {
    return [...this.members.values()].filter((member) => member.ending === '' && !member.leaving);
  }

  /** Those that take connections. */
  private current(): Member[] {
    return this.staying().filter((member) => member.serving && !member.successor);
  }

  private lives(member: Member): boolean {
    return this.members.has(member.id) && member.ending === '';
  }

  broadcast(publication: Publication): void {
    for (const member of this.members.values()) this.post(member, { kind: 'publish', publication });
  }

  /** The ledger has a verdict by which requests may go on that wait for a target. */
  tellVerdicts(): void {
    for (const member of this.members.values()) this.post(member, { kind: 'verdicts' });
  }

  /** Resolves with true when every worker serves the generation, with false after `withinMs`. */
  served(generation: number, withinMs: number): Promise<boolean> {
    return this.until(
      () => [...this.members.values()].every((member) => member.ending !== '' || member.generation >= generation),
      withinMs,
    );
  }

  /** Has every worker hand over what it has counted. A worker that is silent is not waited for. */
  async collect(): Promise<void> {
    const live = [...this.members.values()].filter((member) => member.serving && member.ending === '');
    await Promise.all(live.map((member) => this.ask(member, (id) => ({ kind: 'report', id }))));
  }

  /** How much of its heap each worker uses (bytes). One that does not answer in time is left out. */
  async heaps(): Promise<Heap[]> {
    const asked = this.current().map(async ({ id, thread }): Promise<Heap[]> => {
      const answer = await Promise.race([thread.getHeapStatistics(), sleep(this.parts.clock, ANSWER_MS)]).catch(() => undefined);
      return answer === undefined ? [] : [{ worker: id, used: answer.used_heap_size, limit: answer.heap_size_limit }];
    });
    return (await Promise.all(asked)).flat();
  }

  /** Asks one worker what it would do. @returns null when none answers in time. */
  async dryRun(request: DryRun): Promise<DryRunResult | null> {
    const member = [...this.members.values()].find((candidate) => candidate.serving && candidate.ending === '');
    if (member === undefined) return null;
    const answer = await this.ask(member, (id) => ({ kind: 'dry-run', id, request }));
    return answer?.kind === 'dry-run' ? answer.result : null;
  }

  /** Lets every worker finish what it has, for `withinMs` at most, and ends them. */
  async drain(withinMs: number, patient = false): Promise<void> {
    this.stopping = true;
    for (const member of this.members.values()) this.post(member, { kind: 'drain', patient });
    await this.until(() => this.members.size === 0, withinMs);
    await this.stop();
  }

  /** Ends every worker at once. */
  async stop(): Promise<void> {
    this.stopping = true;
    this.stopWatching();
    await Promise.all([...this.members.values()].map((member) => member.thread.terminate()));
  }

  private spawn(successor = false): Member {
    const { parts } = this;
    const id = this.nextId++;
    const slot = this.freeSlot();
    const state = parts.state();
    const workerData: WorkerStart = { worker: id, slot, ledger: parts.ledger.buffers, state, hashKey: parts.hashKey };
    const thread = new Worker(ENTRY, { workerData, resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB } });
    const member: Member = {
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
    thread.on('message', (message: FromWorker) => this.take(member, message));
    thread.on('error', (error) => {
      fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
    });
    thread.on('exit', (code) => this.exited(member, fault || `exit code ${code}`));
    return member;
  }

  private take(member: Member, message: FromWorker): void {
    switch (message.kind) {
      case 'serving':
        member.serving = true;
        member.generation = Math.max(member.generation, message.generation);
        this.parts.onChange(member.id, 'started', '');
        break;
      case 'acknowledged':
        if (message.refused !== undefined)
          member.unmoved = message.refused && new ListenError(message.refused.code, message.refused.message);
        member.generation = Math.max(member.generation, message.generation);
        break;
      case 'report':
        this.parts.onReport(message.report);
        if (message.id !== null) this.answers.get(message.id)?.(message);
        break;
      case 'dry-run':
        this.answers.get(message.id)?.(message);
        break;
      case 'target':
        this.parts.onTarget(message.change);
        break;
      case 'awaited':
        this.parts.onAwaited(message.name);
        break;
      case 'log':
        this.parts.log[message.level]({ worker: member.id, ...message.fields }, message.message);
        break;
      case 'drained':
        this.end(member, 'drained');
        break;
      case 'refused':
        member.refusal = new ListenError(message.code, message.message);
        this.end(member, message.message);
    }
    this.wake();
  }

  private exited(member: Member, reason: string): void {
    const { parts } = this;
    this.members.delete(member.id);
    parts.ledger.inFlight.clear(member.slot);
    parts.ledger.connections.clearWorker(member.slot);
    parts.ledger.targets.clearWorker(member.slot);
    parts.ledger.turns.clearWorker(member.slot);
    this.wake();
    if (this.stopping || member.successor || (member.refusal !== null && !this.begun)) return;
    if (member.leaving) return parts.onChange(member.id, 'retired', member.ending || reason);
    this.restarts++;
    const silent = member.ending !== '' && member.refusal === null;
    const why = member.ending || reason;
    parts.onChange(member.id, silent ? 'replaced' : 'died', why);
    parts.log.error({ worker: member.id, reason: why }, silent ? 'worker replaced' : 'worker died, starting another');
    const young = parts.clock.monotonic() - member.startedAt < YOUNG_MS;
    this.youngDeaths = young ? this.youngDeaths + 1 : 0;
    const wait = this.youngDeaths < 2 ? 0 : Math.min(BACKOFF_MAX_MS, BACKOFF_MS * 2 ** (this.youngDeaths - 2));
    void sleep(parts.clock, wait).then(() => this.fill());
  }

  private watch(): void {
    const now = this.parts.clock.monotonic();
    const silent = this.watchdog.check([...this.members.values()].filter((member) => member.serving).map((member) => member.slot));
    for (const member of this.members.values()) {
      if (member.ending !== '') continue;
      if (silent.has(member.slot)) this.end(member, 'it was silent for 2 s');
      else if (!member.serving && now - member.startedAt > START_MS) this.end(member, 'it did not start');
    }
  }

  private end(member: Member, reason: string): void {
    member.ending = reason;
    void member.thread.terminate();
  }

  private post(member: Member, message: ToWorker): void {
    if (member.ending === '') member.thread.postMessage(message);
  }

  private async ask(member: Member, question: (id: number) => ToWorker): Promise<FromWorker | null> {
    const id = this.nextQuestion++;
    let answer: FromWorker | null = null;
    this.answers.set(id, (message) => {
      answer = message;
      this.wake();
    });
    this.post(member, question(id));
    await this.until(() => answer !== null || !this.members.has(member.id), ANSWER_MS);
    this.answers.delete(id);
    return answer;
  }

  private freeSlot(): number {
    const taken = new Set([...this.members.values()].map((member) => member.slot));
    for (let slot = 0; slot < Workers.slots(this.parts.count); slot++) if (!taken.has(slot)) return slot;
    throw new Error('more workers than columns in the ledger');
  }

  /** Waits for a condition that any message may bring about. @returns whether it came within `withinMs`. */
  private until(met: () => boolean, withinMs: number): Promise<boolean> {
    if (met()) return Promise.resolve(true);
    return new Promise((resolve) => {
      const settle = (result: boolean) => {
        this.waiting.delete(look);
        cancel();
        resolve(result);
      };
      const look = () => {
        if (met()) settle(true);
      };
      const cancel = this.parts.clock.after(withinMs, () => settle(met()));
      this.waiting.add(look);
    });
  }

  private wake(): void {
    for (const look of [...this.waiting]) look();
  }
}
