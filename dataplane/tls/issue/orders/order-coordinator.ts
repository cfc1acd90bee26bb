import { z } from 'zod';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { CertStore, Lease, StoredCertificate } from '../../store/cert-store.ts';
import type { BegunOrder } from '../acme/acme-client.ts';
import { IssueError, type IssueFailureKind } from '../issue-error.ts';
import { retryDelay } from './retry.ts';

/** Renewed while an order lasts; so long (ms) others wait after a machine that orders has gone. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** How often one that waits for another's order looks (ms). */
const LOOK_MS = 500;
/** No authority keeps an order for longer (ms). */
const OLDEST_MS = 7 * 24 * 3_600_000;
/** Crashes in the middle of an order after which it is taken up at once. */
const CRASHES_AT_ONCE = 2;

/** Failures after which an order is worth nothing any more. */
const OVER = ['validation', 'refused'] as const satisfies readonly IssueFailureKind[];

const noteSchema = z.object({
  directory: z.string(),
  /** When it was begun or last taken up (ms since 1970), and by how many processes. */
  at: z.number(),
  tries: z.int().min(0),
  begun: z.object({ url: z.string(), privateKey: z.string() }).nullable(),
  /** Why it came to nothing, for the others: one failed check is enough. */
  failed: z.object({ kind: z.enum(OVER), message: z.string() }).optional(),
});
type Note = z.output<typeof noteSchema>;

export type OrdersTools = {
  readonly store: CertStore;
  readonly clock: Clock;
  readonly log: Log;
};

/** An order under way, in the hands of the one who may place it. */
export type OrderInHand = {
  /** What an earlier process began. */
  readonly begun: BegunOrder | null;
  remember(begun: BegunOrder): Promise<void>;
};

/**
 * One order for a name at a time, among all processes that share the certificate directory, and the same one over
 * crashes: what is needed to go on with it is on disk before the authority is asked for anything that counts.
 */
export class Orders {
  private readonly tools: OrdersTools;

  /** By name, the moment of the last failure that we know of. */
  private readonly failures = new Map<string, number>();
  private readonly startedAt: number;

  constructor(tools: OrdersTools) {
    this.tools = tools;
    this.startedAt = tools.clock.now();
  }

  /**
   * Runs `place` while nobody else orders the name; not at all where another one has brought a certificate meanwhile.
   * `held` is what there was when the order was thought of.
   * @throws what `place` throws, and IssueError where crashes leave no peace.
   */
  async run(name: string, directory: string, held: StoredCertificate | null, place: (order: OrderInHand) => Promise<void>): Promise<void> {
    const { clock } = this.tools;
    const lease = await this.lease(name, held);
    if (lease === null) return;
    const stop = clock.every(RENEW_MS, () => void this.renew(name, lease));
    try {
      const note = await this.noteOf(name, directory, held);
      const tries = (note?.tries ?? 0) + 1;
      this.learn(name, note);
      this.leaveInPeace(name, note);
      const write = (begun: BegunOrder | null): Promise<void> => this.write(name, { directory, at: clock.now(), tries, begun });
      await write(note?.begun ?? null);
      await this.settle(name, directory, place({ begun: note?.begun ?? null, remember: write }));
    } finally {
      stop();
      await lease.release();
    }
  }

  /** Forgets orders that no authority knows any more, and with them their keys. */
  async tidy(): Promise<void> {
    const { store, clock, log } = this.tools;
    try {
      for (const name of await store.notes('orders')) {
        const note = await this.read(name);
        if (note !== null && note.at < clock.now() - OLDEST_MS) await store.putNote('orders', name, null);
      }
    } catch (error) {
      log.debug({ error: String(error) }, 'old orders are not forgotten');
    }
  }

  /** What is over is forgotten, but for the others; what was only held up goes on later. */
  private async settle(name: string, directory: string, placed: Promise<void>): Promise<void> {
    const { store, clock } = this.tools;
    try {
      await placed;
    } catch (error) {
      const kind = OVER.find((each) => error instanceof IssueError && error.kind === each);
      if (!(error instanceof IssueError) || kind === undefined) await this.calm(name);
      else {
        const at = clock.now();
        this.failures.set(name, at);
        await this.write(name, { directory, at, tries: 0, begun: null, failed: { kind, message: error.message } });
      }
      throw error;
    }
    this.failures.delete(name);
    await store.putNote('orders', name, null);
  }

  /** @throws IssueError where another process has failed since we last did: what it met, we would meet. */
  private learn(name: string, note: Note | null): void {
    if (note?.failed === undefined || note.at <= (this.failures.get(name) ?? this.startedAt)) return;
    this.failures.set(name, note.at);
    throw new IssueError(note.failed.kind, note.failed.message);
  }

  /** The process has not crashed: what counts crashes begins anew. */
  private async calm(name: string): Promise<void> {
    const note = await this.read(name);
    if (note === null) return;
    if (note.begun === null) await this.tools.store.putNote('orders', name, null);
    else await this.write(name, { ...note, tries: 1, at: this.tools.clock.now() });
  }

  /** null: somebody else has brought a certificate. */
  private async lease(name: string, held: StoredCertificate | null): Promise<Lease | null> {
    const { store, clock, log } = this.tools;
    for (let looks = 0; ; looks++) {
      const lease = await store.lock(name, LEASE_MS);
      const now = await store.refresh(name);
      if (now !== null && now.serial !== held?.serial) {
        await lease?.release();
        return null;
      }
      if (lease !== null) return lease;
      if (looks === 0) log.info({ name }, 'another process orders this certificate');
      await sleep(clock, LOOK_MS);
    }
  }

  private async renew(name: string, lease: Lease): Promise<void> {
    const kept = await lease.renew().catch(() => false);
    if (!kept) this.tools.log.warn({ name }, 'somebody else may order the same certificate: the lease could not be kept');
  }

  /** @throws IssueError while a name whose orders end in crashes is to wait. */
  private leaveInPeace(name: string, note: Note | null): void {
    const crashes = note?.tries ?? 0;
    if (note === null || crashes <= CRASHES_AT_ONCE) return;
    const wait = note.at + retryDelay('validation', crashes - CRASHES_AT_ONCE, null, 0) - this.tools.clock.now();
    if (wait > 0) throw new IssueError('validation', `${name}: the process has ended ${crashes} times in the middle of its order`, wait);
  }

  private async noteOf(name: string, directory: string, held: StoredCertificate | null): Promise<Note | null> {
    const note = await this.read(name);
    if (note === null || note.directory !== directory || note.at < this.tools.clock.now() - OLDEST_MS) return null;
    // The process ended between keeping the certificate and forgetting its order.
    return note.begun !== null && note.begun.url === held?.order ? null : note;
  }

  private async read(name: string): Promise<Note | null> {
    const text = await this.tools.store.note('orders', name);
    try {
      return text === null ? null : noteSchema.parse(JSON.parse(text));
    } catch (error) {
      this.tools.log.warn(
        { name, error: error instanceof Error ? error.name : String(error) },
        'what is known of an order can not be read',
      );
      return null;
    }
  }

  private write(name: string, note: Note): Promise<void> {
    return this.tools.store.putNote('orders', name, `${JSON.stringify(note)}\n`);
  }
}
