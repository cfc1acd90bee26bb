import { isDeepStrictEqual } from 'node:util';
import { createBackoff } from '../../../../shared/runtime/backoff.ts';
import type { Clock } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { ApiFailure } from '../api/api-failure.ts';
import type { Cluster } from '../api/cluster.ts';
import { FIELD_MANAGER, pathOf, type RawObject, type Resource, type SeenStatus, seenStatusOf } from '../api/resource.ts';
import { nameOf } from '../objects/meta.ts';
import type { DesiredStatus, PublishedAddress, StatusContext } from './desired-status.ts';

/** The maximum number of writes in flight. */
const MAX_WRITES = 8;
/** The number of statuses checked in one turn of the event loop. */
const PER_TURN = 200;

export type StatusWriterOptions = {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The status of an object as last received by the watch. */
  seen(resource: Resource<unknown>, key: string): SeenStatus | undefined;
  /** Whether this controller is the one that writes. Checked before every write. */
  mayWrite(): boolean;
};

type Patch = { readonly status: DesiredStatus /** The version that it is about. */; readonly version: string; readonly changes: object };

/**
 * Writes desired statuses. Only the newest status of each object counts, however many were wanted in between; a status that is already
 * correct is not written. Needs no order: each write states which version of the object it is for.
 */
export class StatusWriter {
  private readonly options: StatusWriterOptions;
  private readonly backoff: ReturnType<typeof createBackoff>;
  /** By resource and name, as `keyOf`. */
  private readonly wanted = new Map<string, DesiredStatus>();
  /** The objects to check, in the order in which they became due. */
  private readonly due = new Set<string>();
  private readonly inFlight = new Map<string, Promise<void>>();
  /** The result of a write, until the watch shows something newer. */
  private readonly left = new Map<string, SeenStatus>();
  private readonly reported = new Set<string>();
  private refused: ReadonlyMap<string, string> = new Map();
  private addresses: readonly PublishedAddress[] | null = null;
  private isWorking = false;
  private cancelPause: (() => void) | undefined;
  private signal: AbortSignal = AbortSignal.abort();

  constructor(options: StatusWriterOptions) {
    this.options = options;
    this.backoff = createBackoff(options.random);
  }

  /** Writes until `signal` is aborted. Resolves when no write is in flight any more. */
  async run(signal: AbortSignal): Promise<void> {
    this.signal = signal;
    this.work();
    await new Promise<void>((resolve) => (signal.aborted ? resolve() : signal.addEventListener('abort', () => resolve(), { once: true })));
    this.cancelPause?.();
    this.cancelPause = undefined;
    await Promise.all(this.inFlight.values());
  }

  /** Sets all statuses of the snapshot that is now served; those that are the same objects as before are not checked again. */
  want(statuses: readonly DesiredStatus[], refused: ReadonlyMap<string, string>): void {
    const isSame = refused.size === this.refused.size && [...refused].every(([domain, reason]) => this.refused.get(domain) === reason);
    this.refused = refused;
    const gone = new Set(this.wanted.keys());
    for (const status of statuses) {
      const key = keyOf(status.resource, nameOf(status.meta));
      gone.delete(key);
      if (!isSame || this.wanted.get(key) !== status) this.due.add(key);
      this.wanted.set(key, status);
    }
    for (const key of gone) {
      this.wanted.delete(key);
      this.left.delete(key);
    }
    this.work();
  }

  /** Sets the addresses to publish; null if they are unknown. */
  publish(addresses: readonly PublishedAddress[] | null): void {
    if (isDeepStrictEqual(addresses, this.addresses)) return;
    this.addresses = addresses;
    this.judgeAll();
  }

  /** The watch shows a new status of an object; null: perhaps of every object. */
  changed(resource: Resource<unknown>, name: string | null): void {
    if (name === null) {
      for (const key of this.wanted.keys()) this.changedKey(key);
      return this.work();
    }
    this.changedKey(keyOf(resource, name));
    this.work();
  }

  /** This controller writes from now on, so everything is checked again. */
  judgeAll(): void {
    for (const key of this.wanted.keys()) this.due.add(key);
    this.work();
  }

  private changedKey(key: string): void {
    this.left.delete(key);
    if (this.wanted.has(key)) this.due.add(key);
  }

  private work(): void {
    if (this.isWorking || this.due.size === 0 || !this.isActive()) return;
    this.isWorking = true;
    void this.drain().finally(() => {
      this.isWorking = false;
      // Statuses that became due at the very end. Those in flight are checked when their write ends.
      if ([...this.due].some((key) => !this.inFlight.has(key))) this.work();
    });
  }

  private isActive(): boolean {
    return !this.signal.aborted && this.cancelPause === undefined && this.options.mayWrite();
  }

  private async drain(): Promise<void> {
    let judged = 0;
    for (const key of this.due) {
      if (!this.isActive()) return;
      // It is checked when its write has ended, since the result is unknown until then.
      if (this.inFlight.has(key)) continue;
      this.due.delete(key);
      const patch = this.patchOf(key);
      if (patch) {
        const writing = this.write(key, patch).finally(() => {
          this.inFlight.delete(key);
          this.work();
        });
        this.inFlight.set(key, writing);
        if (this.inFlight.size >= MAX_WRITES) await Promise.race(this.inFlight.values());
      } else if (++judged % PER_TURN === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** undefined if the status is correct or irrelevant. */
  private patchOf(key: string): Patch | undefined {
    const status = this.wanted.get(key);
    if (status === undefined) return undefined;
    const { resource, meta } = status;
    const seen = this.left.get(key) ?? this.options.seen(resource, nameOf(meta));
    // Another object with that name, which will get a desired status of its own.
    if (seen === undefined || seen.uid !== meta.uid) return undefined;
    const wanted = status.build(this.contextOf(seen));
    if (wanted === undefined) return undefined;
    const plain = JSON.parse(JSON.stringify(wanted)) as Readonly<Record<string, unknown>>;
    const changes = Object.entries(plain).filter(([member, value]) => !isDeepStrictEqual(seen.status[member] ?? null, value));
    if (changes.length === 0) return undefined;
    return { status, version: seen.version, changes: Object.fromEntries(changes) };
  }

  private contextOf({ status: current, isWritten }: SeenStatus): StatusContext {
    const now = new Date(this.options.clock.now()).toISOString().replace(/\.\d+/, '');
    return { current, isWritten, addresses: this.addresses, refused: this.refused, now };
  }

  private async write(key: string, patch: Patch): Promise<void> {
    const { resource, meta } = patch.status;
    const path = `${pathOf(resource, meta.namespace)}/${meta.name}/status`;
    const body = { metadata: { uid: meta.uid, resourceVersion: patch.version }, status: patch.changes };
    try {
      const query = { fieldManager: FIELD_MANAGER };
      const written = await this.options.cluster.send({ method: 'PATCH', path, query, body }, this.signal);
      if (!this.hasMoved(patch)) this.left.set(key, seenStatusOf(written as RawObject));
      this.backoff.reset();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      if (!this.signal.aborted) this.failed(key, path, patch, error);
    }
  }

  /** Whether the watch shows a different version than the one that a write was for: the result of the write, or a later one. */
  private hasMoved({ status: { resource, meta }, version }: Patch): boolean {
    return this.options.seen(resource, nameOf(meta))?.version !== version;
  }

  private failed(key: string, path: string, patch: Patch, { status, message, retryAfterMs }: ApiFailure): void {
    // It is gone.
    if (status === 404) return;
    if (status === 409) {
      this.left.delete(key);
      // Otherwise the watch will show the newer version, which is then checked.
      if (this.hasMoved(patch)) this.due.add(key);
      return;
    }
    const isTransient = status === null || status === 429 || status >= 500;
    if (isTransient) {
      this.due.add(key);
      return this.pause(Math.max(retryAfterMs, this.backoff.next()), message);
    }
    // A retry would have the same result, so it is checked again when something changes.
    if (!this.reported.has(message)) this.options.log.warn({ path, reason: message }, 'a status can’t be written');
    if (this.reported.size < 1_000) this.reported.add(message);
  }

  private pause(ms: number, reason: string): void {
    if (this.cancelPause || this.signal.aborted) return;
    this.options.log.debug({ reason, ms }, 'writing statuses is paused');
    this.cancelPause = this.options.clock.after(ms, () => {
      this.cancelPause = undefined;
      this.work();
    });
  }
}

const keyOf = ({ api, name }: Resource<unknown>, object: string): string => `${api}/${name} ${object}`;
