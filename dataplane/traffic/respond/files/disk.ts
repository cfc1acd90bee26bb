import fs from 'node:fs';
import { DISK_OPERATIONS_PER_ROOT, DISK_OPERATIONS_PER_WORKER } from '../../../../shared/limits.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { Faults } from '../../exchange/faults.ts';

/** How long an operation may take, including the wait for its turn (ms). A hard disk that has to spin up needs 10 s. */
export const LONGEST_MS = 30_000;
const SWEEP_MS = 1_000;

type Done<T> = (error: NodeJS.ErrnoException | null, value?: T) => void;

type Operation = {
  readonly lane: Lane;
  /** Milliseconds on the monotonic clock. */
  readonly since: number;
  start(): void;
  /** Whether the result is no longer needed. */
  unwanted(): boolean;
  /** null for an operation that must complete however long it takes. */
  readonly fail: ((error: Error) => void) | null;
  ended: boolean;
};

/** The operations under one root. */
type Lane = {
  readonly root: string;
  readonly running: Set<Operation>;
  /** Those that close descriptors, or bring forward what has some open, go before all others. */
  first: Operation[];
  waiting: Operation[];
  lost: number;
};

/** A disk that doesn't respond: it hangs, or has more to do than it can. */
export class DiskTimeout extends Error {}

/**
 * A worker's operations on disks, which run in the process's thread pool. The pool also resolves names and compares passwords, and has
 * threads for those in addition to the ones for disks. A root never gets all of the worker's operations, so a disk that hangs delays only
 * the sites on it. Its threads can't be freed, but its requests fail once they have waited long enough.
 */
export class Disks {
  private readonly clock: Clock;
  private readonly faults: Faults;
  /** Lanes with waiting operations. */
  private readonly lanes = new Map<string, Lane>();
  /** Lanes that can start another operation, in the order of their turns. */
  private readonly ready = new Set<Lane>();
  private running = 0;
  private sweeping = false;

  constructor(clock: Clock, faults: Faults) {
    this.clock = clock;
    this.faults = faults;
  }

  /** Adds an operation. One without `fail` waits without a limit. `first`: before those of the root that begin something new. */
  add(
    root: string,
    start: (ended: () => void) => void,
    unwanted: () => boolean,
    fail: ((error: Error) => void) | null,
    first: boolean,
  ): void {
    const lane = this.laneOf(root);
    if (fail !== null && lane.lost === DISK_OPERATIONS_PER_ROOT) return fail(timeout(root));
    const operation: Operation = {
      lane,
      since: this.clock.monotonic(),
      start: () =>
        start(() => {
          operation.ended = true;
          this.faults.step(() => this.ended(operation));
        }),
      unwanted,
      fail,
      ended: false,
    };
    (first ? lane.first : lane.waiting).push(operation);
    this.startNext(lane);
    if (!this.sweeping) this.sweepLater();
  }

  private laneOf(root: string): Lane {
    let lane = this.lanes.get(root);
    if (lane === undefined) {
      lane = { root, running: new Set(), first: [], waiting: [], lost: 0 };
      this.lanes.set(root, lane);
    }
    return lane;
  }

  private ended(operation: Operation): void {
    const { lane } = operation;
    if (!lane.running.delete(operation)) return;
    this.running--;
    lane.lost = Math.min(lane.lost, lane.running.size);
    this.startNext(lane);
    this.forgetIdle(lane);
  }

  private forgetIdle(lane: Lane): void {
    if (lane.running.size === 0 && waitingIn(lane) === 0) this.lanes.delete(lane.root);
  }

  /** A lane gets its turn after all others that are waiting for theirs. */
  private startNext(lane: Lane): void {
    if (hasNext(lane)) this.ready.add(lane);
    for (const next of this.ready) {
      if (this.running >= DISK_OPERATIONS_PER_WORKER) return;
      this.ready.delete(next);
      this.start(next);
      if (hasNext(next)) this.ready.add(next);
    }
  }

  private start(lane: Lane): void {
    for (let operation = nextOf(lane); operation !== undefined; operation = nextOf(lane)) {
      if (operation.unwanted()) {
        operation.fail?.(timeout(lane.root));
        continue;
      }
      lane.running.add(operation);
      this.running++;
      return operation.start();
    }
  }

  private isLate({ since }: Operation): boolean {
    return this.clock.monotonic() - since >= LONGEST_MS;
  }

  private sweepLater(): void {
    this.sweeping = true;
    this.clock.after(SWEEP_MS, () => {
      this.sweeping = false;
      this.faults.step(() => {
        this.running = 0;
        for (const lane of this.lanes.values()) this.sweep(lane);
        for (const lane of this.lanes.values()) this.startNext(lane);
      });
      if (this.lanes.size > 0) this.faults.step(() => this.sweepLater());
    });
  }

  /** Fails operations that have taken too long. An exception may have left behind one that has ended. */
  private sweep(lane: Lane): void {
    for (const operation of lane.running) if (operation.ended) lane.running.delete(operation);
    this.running += lane.running.size;
    const late = [...lane.running].filter((operation) => this.isLate(operation));
    lane.lost = late.length;
    const hangs = lane.lost === DISK_OPERATIONS_PER_ROOT;
    const fails = (operation: Operation): boolean => operation.fail !== null && (hangs || this.isLate(operation));
    const failed = [...late, ...lane.first.filter(fails), ...lane.waiting.filter(fails)];
    lane.first = lane.first.filter((operation) => !fails(operation));
    lane.waiting = lane.waiting.filter((operation) => !fails(operation));
    for (const operation of failed) operation.fail?.(timeout(lane.root));
    this.forgetIdle(lane);
  }
}

const waitingIn = ({ first, waiting }: Lane): number => first.length + waiting.length;
const nextOf = ({ first, waiting }: Lane): Operation | undefined => first.shift() ?? waiting.shift();
const hasNext = (lane: Lane): boolean => waitingIn(lane) > 0 && lane.running.size < DISK_OPERATIONS_PER_ROOT;

const timeout = (root: string): DiskTimeout => new DiskTimeout(`the disk of ${root} has not responded for ${LONGEST_MS / 1_000} seconds`);

/** Dependencies of operations on disks. */
export type DiskTools = { readonly faults: Faults; readonly disks: Disks };

/** The operations of one response on a disk. */
export class DiskAccess {
  /** Set when the response is no longer needed. Operations that have not begun are then skipped. */
  over = false;
  private readonly tools: DiskTools;
  private readonly root: string;
  private searching = true;
  private first = false;
  private readonly unwanted = (): boolean => this.over;

  constructor(tools: DiskTools, root: string) {
    this.tools = tools;
    this.root = root;
  }

  /** The file has been found. Sending it takes long, so that waits like what others begin. */
  searched(): void {
    this.searching = false;
    this.first = false;
  }

  /** Runs one operation once there is room for it. `late` gets a result that comes after the operation has failed for its caller. */
  run<T>(operation: (done: Done<T>) => void, late: (value: T) => void = ignored): Promise<T> {
    return new Promise((resolve, reject) => {
      let failed = false;
      const fail = (error: unknown): void => {
        failed = true;
        reject(error);
      };
      const start = (ended: () => void): void => {
        const done: Done<T> = (error, value) => {
          ended();
          if (error) reject(error);
          else if (failed) this.tools.faults.step(() => late(value as T));
          else resolve(value as T);
        };
        try {
          operation(done);
        } catch (error) {
          ended();
          fail(error);
        }
      };
      try {
        this.tools.disks.add(this.root, start, this.unwanted, fail, this.first);
        // A search that has begun ends before others begin: otherwise as many descriptors would be open as clients request files.
        this.first = this.searching;
      } catch (error) {
        fail(error);
      }
    });
  }

  open(path: string, flags: number): Promise<number> {
    return this.run<number>(
      (done) => fs.open(path, flags, done),
      (fd) => this.close(fd),
    );
  }

  /** Closes a descriptor of a file that was only read, so nothing depends on the result. It may wait for the disk, too. */
  close(fd: number): void {
    this.tools.disks.add(this.root, (ended) => fs.close(fd, ended), never, null, true);
  }

  /** An exception was thrown on behalf of this response: ends its exchange if it is not over. */
  onFault(x: Exchange, error: unknown): void {
    if (this.over) this.tools.faults.note('nothing', error);
    else x.client.onFault(error);
  }
}

const never = (): boolean => false;
const ignored = (): void => undefined;
