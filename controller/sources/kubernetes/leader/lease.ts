import type { Clock } from '../../../../shared/runtime/clock.ts';
import { sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { ApiFailure } from '../api/api-failure.ts';
import type { Cluster } from '../api/cluster.ts';

/** Others may take over when the lease has not been renewed for this long (seconds). */
const DURATION_SECS = 15;
/** The holder counts itself as such for this long after a renewal: less than the above, so that there are never two (ms). */
const VALID_MS = 10_000;
/** How often the holder renews, and the others check (ms), less up to a fifth. */
const PERIOD_MS = 4_000;
/** A release at the end waits this long for its response (ms). */
const RELEASE_MS = 2_000;

/** A Lease (coordination.k8s.io/v1). */
type Lease = {
  readonly metadata: { readonly name: string; readonly namespace: string; readonly resourceVersion?: string };
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
};

export type LeaseOptions = {
  readonly cluster: Cluster;
  readonly name: string;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called when this process has become the holder. */
  acquired(): void;
};

/**
 * One of several controllers holds a Lease and does the writing that only one may do. The times in a Lease come from other machines'
 * clocks, so a holder counts as gone when its lease has not changed for its duration, by this process's own clock.
 */
export class LeaseHolder {
  private readonly options: LeaseOptions;
  private readonly path: string;
  /** The lease as last seen. */
  private seen: Lease | undefined;
  private seenAt = 0;
  private validUntil = Number.NEGATIVE_INFINITY;
  private wasHolder = false;
  private lastError = '';

  constructor(options: LeaseOptions) {
    this.options = options;
    this.path = `/apis/coordination.k8s.io/v1/namespaces/${options.cluster.namespace}/leases`;
  }

  /** Whether this process may write now. */
  get isHolder(): boolean {
    return this.options.clock.monotonic() < this.validUntil;
  }

  /** Runs until `signal` is aborted; then the lease is released. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, log } = this.options;
    while (!signal.aborted) {
      try {
        await this.attempt(signal);
        this.lastError = '';
      } catch (error) {
        if (signal.aborted) break;
        if (!(error instanceof ApiFailure)) throw error;
        if (error.message !== this.lastError)
          log.warn({ reason: error.message }, 'the lease for writing statuses could not be acquired; trying again');
        this.lastError = error.message;
        this.seen = undefined;
      }
      this.note();
      await sleep(clock, PERIOD_MS * (1 - random.fraction() / 5), signal);
    }
    await this.release();
  }

  private note(): void {
    const { log, identity, acquired } = this.options;
    const { isHolder } = this;
    if (isHolder === this.wasHolder) return;
    this.wasHolder = isHolder;
    log.info({ identity }, isHolder ? 'this controller writes statuses' : 'this controller no longer writes statuses');
    if (isHolder) acquired();
  }

  private async attempt(signal: AbortSignal): Promise<void> {
    const { clock, identity } = this.options;
    const began = clock.monotonic();
    if (this.seen?.spec?.holderIdentity !== identity) await this.check(signal);
    if (!this.isFree()) return;
    try {
      await this.write(identity, signal);
      this.validUntil = began + VALID_MS;
    } catch (error) {
      // Another controller was quicker: try again next time.
      if (!(error instanceof ApiFailure) || error.status !== 409) throw error;
      this.seen = undefined;
      this.validUntil = Number.NEGATIVE_INFINITY;
    }
  }

  private async check(signal: AbortSignal): Promise<void> {
    const { cluster, clock, name } = this.options;
    const before = this.seen?.metadata.resourceVersion;
    try {
      this.seen = (await cluster.send({ method: 'GET', path: `${this.path}/${name}` }, signal)) as Lease;
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 404) throw error;
      this.seen = undefined;
      return;
    }
    if (this.seen.metadata.resourceVersion !== before) this.seenAt = clock.monotonic();
  }

  private isFree(): boolean {
    const { holderIdentity = '', leaseDurationSeconds = 0 } = this.seen?.spec ?? {};
    if (holderIdentity === '' || holderIdentity === this.options.identity) return true;
    return this.options.clock.monotonic() - this.seenAt > leaseDurationSeconds * 1_000;
  }

  private async write(holder: string, signal: AbortSignal): Promise<void> {
    const { cluster, clock, name } = this.options;
    const before = this.seen;
    const now = microTime(clock.now());
    const { holderIdentity = '', acquireTime = now, leaseTransitions = 0 } = before?.spec ?? {};
    const isNew = holderIdentity !== holder;
    const spec = {
      holderIdentity: holder,
      leaseDurationSeconds: holder === '' ? 1 : DURATION_SECS,
      acquireTime: isNew ? now : acquireTime,
      renewTime: now,
      leaseTransitions: leaseTransitions + (isNew && before !== undefined && holder !== '' ? 1 : 0),
    };
    const metadata = { ...before?.metadata, name, namespace: cluster.namespace };
    const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
    const request = before
      ? ({ method: 'PUT', path: `${this.path}/${name}`, body } as const)
      : ({ method: 'POST', path: this.path, body } as const);
    this.seen = (await cluster.send(request, signal)) as Lease;
    this.seenAt = clock.monotonic();
  }

  /** Releases the lease, so that another controller need not wait. */
  private async release(): Promise<void> {
    if (!this.isHolder) return;
    this.validUntil = Number.NEGATIVE_INFINITY;
    const { clock, log } = this.options;
    const ending = new AbortController();
    const cancel = clock.after(RELEASE_MS, () => ending.abort());
    try {
      await this.write('', ending.signal);
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      log.info({ reason: error.message }, 'the lease was not released; it expires');
    } finally {
      cancel();
    }
  }
}

/** As in a Lease: RFC 3339 with microseconds. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
