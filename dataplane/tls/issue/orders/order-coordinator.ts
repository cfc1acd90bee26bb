import * as z from 'zod';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Lease, StoredCertificate } from '../../store/cert-store.ts';
import type { DirectoryStore } from '../../store/directory-store.ts';
import type { ResumableOrder } from '../acme/acme-client.ts';
import { CrashedError, IssueError, type IssueFailureKind, UnfinishedError } from '../issue-error.ts';
import { retryDelay } from './retry.ts';

/** Lifetime of the lease (ms), renewed while the order runs. Others wait this long after a machine crashes. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** How often a waiting instance polls for another instance's order (ms). */
const POLL_MS = 500;
/** Authorities keep no order for longer than this (ms). */
const MAX_AGE_MS = 7 * 24 * 3_600_000;
/** How many crashes in the middle of an order are resumed without a backoff. */
const CRASHES_AT_ONCE = 2;

/** How long a process that ends waits for the directory, which may be on another machine that does not answer (ms). */
const RELEASE_MS = 2_000;

/** Failures that end an order permanently. */
const FINAL_FAILURES = ['validation', 'refused'] as const satisfies readonly IssueFailureKind[];

const savedOrderSchema = z.object({
  directory: z.string(),
  /** When it was started or last resumed (ms since 1970), and by how many processes. */
  at: z.number(),
  tries: z.int().min(0),
  begun: z.object({ url: z.string(), privateKey: z.string() }).nullable(),
  /** Why it failed, so that other instances do not repeat the failing challenge. */
  failed: z.object({ kind: z.enum(FINAL_FAILURES), message: z.string() }).optional(),
});
type SavedOrder = z.output<typeof savedOrderSchema>;

export type OrderCoordinatorTools = { readonly store: DirectoryStore; readonly clock: Clock; readonly log: Log };

/** The state of an order for the instance that holds the lease. */
export type OrderProgress = {
  /** An order that an earlier process started. */
  readonly begun: ResumableOrder | null;
  remember(begun: ResumableOrder): Promise<void>;
};

/**
 * Ensures that only one instance orders a given name at a time, among all that share the certificate directory, and that
 * an order survives crashes: its state is on disk before the authority does anything that counts against rate limits.
 */
export class OrderCoordinator {
  private readonly tools: OrderCoordinatorTools;

  /** By name, the time of the last failure that we know of. */
  private readonly failures = new Map<string, number>();
  private readonly startedAt: number;
  /** By name, the orders in progress. */
  private readonly running = new Map<string, { tries: number }>();
  private released = false;

  constructor(tools: OrderCoordinatorTools) {
    this.tools = tools;
    this.startedAt = tools.clock.now();
  }

  /**
   * Runs `place` with the lease on the name. Does nothing if another instance has stored a certificate in the meantime;
   * `held` is the certificate that was current when the order was scheduled.
   * @throws what `place` throws, and IssueError while backing off from repeated crashes.
   */
  async run(
    name: string,
    directory: string,
    held: StoredCertificate | null,
    place: (order: OrderProgress) => Promise<void>,
  ): Promise<void> {
    const { clock } = this.tools;
    const lease = await this.acquireLease(name, held);
    if (lease === null) return;
    const stop = clock.every(RENEW_MS, () => void this.renewLease(name, lease));
    try {
      const note = await this.savedOrder(name, directory, held);
      this.throwIfFailedElsewhere(name, note);
      this.throwIfCrashLooping(name, note);
      const order = { tries: (note?.tries ?? 0) + 1 };
      this.running.set(name, order);
      const write = (begun: ResumableOrder | null): Promise<void> =>
        this.write(name, { directory, at: clock.now(), tries: order.tries, begun });
      await write(note?.begun ?? null);
      await this.recordOutcome(name, directory, place({ begun: note?.begun ?? null, remember: write }));
    } finally {
      stop();
      this.running.delete(name);
      await this.attemptWrite(name, 'the lease could not be released: it ends in 30 s', lease.release());
    }
  }

  /**
   * The process ends, or another one takes over: that its orders are cut does not count as a crash. Resolves when that is on disk, or can't
   * be saved in time.
   */
  async release(): Promise<void> {
    if (this.released) return;
    this.released = true;
    for (const order of this.running.values()) order.tries--;
    const failure = 'an order that goes on could not be saved: it counts as one that a crash has cut';
    const saved = [...this.running.keys()].map((name) => this.attemptWrite(name, failure, this.uncount(name)));
    if (saved.length > 0) await Promise.race([Promise.all(saved), sleep(this.tools.clock, RELEASE_MS)]);
  }

  /** This process goes on with its orders after all. */
  reclaim(): void {
    if (!this.released) return;
    this.released = false;
    for (const order of this.running.values()) order.tries++;
  }

  private async uncount(name: string): Promise<void> {
    const note = await this.read(name);
    const order = this.running.get(name);
    // The order may have ended meanwhile.
    if (note !== null && note.failed === undefined && order !== undefined) await this.write(name, { ...note, tries: order.tries });
  }

  /**
   * Deletes saved orders, with their keys, that no process will resume: those that have expired at any authority, and those whose certificate
   * is stored, because the process ended before it deleted the order.
   */
  async deleteOver(): Promise<void> {
    const { store, clock, log } = this.tools;
    try {
      for (const name of await store.keys('orders')) {
        const note = await this.read(name);
        if (note === null) continue;
        const isExpired = note.at < clock.now() - MAX_AGE_MS;
        if (isExpired || isStored(note, await store.refresh(domainOf(name)))) await store.write('orders', name, null);
      }
    } catch (error) {
      log.debug({ error: String(error) }, 'could not delete orders that are over');
    }
  }

  /** Deletes the saved order on success, records a final failure for other instances, and keeps an interrupted order for later. */
  private async recordOutcome(name: string, directory: string, placed: Promise<void>): Promise<void> {
    const { store, clock } = this.tools;
    try {
      await placed;
    } catch (error) {
      const kind = FINAL_FAILURES.find((each) => error instanceof IssueError && error.kind === each);
      if (!(error instanceof IssueError) || error instanceof UnfinishedError || kind === undefined)
        await this.attemptWrite(name, 'an order that goes on could not be saved', this.resetTries(name));
      else {
        const at = clock.now();
        this.failures.set(name, at);
        const failed = { directory, at, tries: 0, begun: null, failed: { kind, message: error.message } };
        await this.attemptWrite(name, 'a failed order could not be saved: other instances may repeat it', this.write(name, failed));
      }
      throw error;
    }
    this.failures.delete(name);
    await this.attemptWrite(name, 'a saved order that is over could not be deleted', store.write('orders', name, null));
  }

  /** What is written after an order does not change its result: whether it counts against the authority's limits is decided. */
  private async attemptWrite(name: string, failure: string, written: Promise<void>): Promise<void> {
    await written.catch((error: unknown) => this.tools.log.warn({ name, error: String(error) }, failure));
  }

  /** @throws IssueError if another instance has failed since our last failure: we would fail in the same way. */
  private throwIfFailedElsewhere(name: string, note: SavedOrder | null): void {
    if (note?.failed === undefined || note.at <= (this.failures.get(name) ?? this.startedAt)) return;
    this.failures.set(name, note.at);
    throw new IssueError(note.failed.kind, note.failed.message);
  }

  /** The process did not crash, so the crash counter starts over. */
  private async resetTries(name: string): Promise<void> {
    const note = await this.read(name);
    if (note === null) return;
    if (note.begun === null) await this.tools.store.write('orders', name, null);
    else await this.write(name, { ...note, tries: 1, at: this.tools.clock.now() });
  }

  /** null: another instance has stored a certificate. */
  private async acquireLease(name: string, held: StoredCertificate | null): Promise<Lease | null> {
    const { store, clock, log } = this.tools;
    for (let looks = 0; ; looks++) {
      const lease = await store.lock(name, LEASE_MS);
      const now = await store.refresh(name);
      if (now !== null && now.serial !== held?.serial) {
        await lease?.release();
        return null;
      }
      if (lease !== null) return lease;
      if (looks === 0) log.info({ name }, 'another instance is ordering this certificate');
      await sleep(clock, POLL_MS);
    }
  }

  private async renewLease(name: string, lease: Lease): Promise<void> {
    const kept = await lease.renew().catch(() => false);
    if (!kept) this.tools.log.warn({ name }, 'the lease could not be renewed: another instance may order the same certificate');
  }

  /** @throws IssueError while backing off from repeated crashes in the middle of this order. */
  private throwIfCrashLooping(name: string, note: SavedOrder | null): void {
    const crashes = note?.tries ?? 0;
    if (note === null || crashes <= CRASHES_AT_ONCE) return;
    const delay = retryDelay('validation', crashes - CRASHES_AT_ONCE, null, 0);
    const wait = note.at + delay - this.tools.clock.now();
    // A longer wait means that the time of day was set back.
    if (wait > 0 && wait <= delay)
      throw new CrashedError(`${name}: the process has crashed ${crashes} times in the middle of its order`, wait);
  }

  private async savedOrder(name: string, directory: string, held: StoredCertificate | null): Promise<SavedOrder | null> {
    const note = await this.read(name);
    if (note === null || note.directory !== directory || note.at < this.tools.clock.now() - MAX_AGE_MS) return null;
    return isStored(note, held) ? null : note;
  }

  private async read(name: string): Promise<SavedOrder | null> {
    const text = await this.tools.store.read('orders', name);
    try {
      return text === null ? null : savedOrderSchema.parse(JSON.parse(text));
    } catch (error) {
      this.tools.log.warn({ name, error: error instanceof Error ? error.name : String(error) }, 'a saved order cannot be read');
      return null;
    }
  }

  private write(name: string, note: SavedOrder): Promise<void> {
    return this.tools.store.write('orders', name, `${JSON.stringify(note)}\n`);
  }
}

/** The domain of a key in the store. */
const domainOf = (key: string): string => key.replace(/^_/, '*');

/** Whether this is the order of a stored certificate: the process ended after storing it and before deleting its order. */
const isStored = ({ begun }: SavedOrder, held: StoredCertificate | null): boolean => begun !== null && begun.url === held?.order;
