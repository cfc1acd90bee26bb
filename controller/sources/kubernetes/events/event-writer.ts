import { createHash } from 'node:crypto';
import { INGRESS_CONTROLLER } from '../../../../shared/name.ts';
import { createBackoff } from '../../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { ApiFailure } from '../api/api-failure.ts';
import type { Cluster } from '../api/cluster.ts';
import { apiVersionOf } from '../api/resource.ts';
import type { Refusal } from './refusal.ts';

/** A persistent refusal is reported again before the API server deletes its Event, which happens after an hour (ms). */
const REPEAT_MS = 1_800_000;
/** One that recurs within this time after it was reported is not reported again (ms). */
const AGAIN_MS = 300_000;
/** Events are rare, but a mistake in a template may be in a thousand objects: a burst of this many, then one per interval (ms). */
const BURST = 50;
const EVERY_MS = 200;
/** Limits of the API. */
const MAX_NOTE = 1_024;
const MAX_INSTANCE = 128;
/** Leaves room for the hash in a name of 253 characters. */
const MAX_NAME = 230;

export type EventWriterOptions = {
  readonly cluster: Cluster;
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether this controller is the one that writes. Checked before every write. */
  mayWrite(): boolean;
};

type RawEvent = { readonly series?: { readonly count?: number } };

/** Reports refusals as Events (events.k8s.io/v1) of the objects concerned: each once, and again at intervals while it persists. */
export class EventWriter {
  private readonly options: EventWriterOptions;
  /** Current refusals, by the name of their Event. */
  private refusals: ReadonlyMap<string, Refusal> = new Map();
  /** When each was reported (ms, monotonic). */
  private readonly told = new Map<string, number>();
  private tokens = BURST;
  private filledAt = 0;
  private isReported = false;
  private wake: () => void = () => undefined;

  constructor(options: EventWriterOptions) {
    this.options = options;
    this.filledAt = options.clock.monotonic();
  }

  /** Sets the refusals: all those of the snapshot that is now served. */
  want(refusals: readonly Refusal[]): void {
    this.refusals = new Map(refusals.map((refusal) => [nameOfEvent(refusal), refusal]));
    this.wake();
  }

  /** This controller may write from now on. */
  lead(): void {
    this.wake();
  }

  /** Runs until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.options;
    const backoff = createBackoff(random);
    while (!signal.aborted) {
      const next = this.options.mayWrite() ? this.nextDue() : undefined;
      if (next === undefined) {
        await this.pause(REPEAT_MS / 10, signal);
        continue;
      }
      try {
        await this.write(next.name, next.refusal, signal);
        this.told.set(next.name, clock.monotonic());
        backoff.reset();
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ApiFailure)) throw error;
        if (!this.isReported) this.options.log.warn({ reason: error.message }, 'events about refused objects can’t be written');
        this.isReported = true;
        const isTransient = error.status === null || error.status === 429 || error.status >= 500;
        // A retry would have the same result.
        if (!isTransient) this.told.set(next.name, clock.monotonic());
        else await sleep(clock, Math.max(error.retryAfterMs, backoff.next()), signal);
      }
      await this.spend(signal);
    }
  }

  private nextDue(): { readonly name: string; readonly refusal: Refusal } | undefined {
    const now = this.options.clock.monotonic();
    for (const [name, at] of this.told) if (!this.refusals.has(name) && now - at > AGAIN_MS) this.told.delete(name);
    for (const [name, refusal] of this.refusals) {
      const at = this.told.get(name);
      if (at === undefined || now - at > REPEAT_MS) return { name, refusal };
    }
    return undefined;
  }

  private pause(ms: number, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    this.wake = () => woken.abort();
    return sleep(this.options.clock, ms, AbortSignal.any([signal, woken.signal]));
  }

  private async spend(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const now = clock.monotonic();
    this.tokens = Math.min(BURST, this.tokens + (now - this.filledAt) / EVERY_MS) - 1;
    this.filledAt = now;
    if (this.tokens < 0) await sleep(clock, EVERY_MS, signal);
  }

  private async write(name: string, { resource, meta, reason, message }: Refusal, signal: AbortSignal): Promise<void> {
    const { cluster, identity, clock } = this.options;
    const namespace = meta.namespace || 'default';
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const now = new Date(clock.now()).toISOString().replace('Z', '000Z');
    const regarding = {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      name: meta.name,
      uid: meta.uid,
      ...(meta.namespace !== '' && { namespace: meta.namespace }),
    };
    const body = {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { name, namespace },
      eventTime: now,
      reportingController: INGRESS_CONTROLLER,
      reportingInstance: identity.slice(0, MAX_INSTANCE),
      action: 'Route',
      type: 'Warning',
      reason,
      note: message.slice(0, MAX_NOTE),
      regarding,
    };
    try {
      await cluster.send({ method: 'POST', path, body }, signal);
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 409) throw error;
      // It was reported before, perhaps by another controller.
      const known = (await cluster.send({ method: 'GET', path: `${path}/${name}` }, signal)) as RawEvent;
      const series = { count: Math.max(1, known.series?.count ?? 1) + 1, lastObservedTime: now };
      await cluster.send({ method: 'PATCH', path: `${path}/${name}`, body: { series } }, signal);
    }
  }
}

/** The same for the same refusal, so that it is reported once. */
function nameOfEvent({ meta, reason, message }: Refusal): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([meta.uid, reason, message]))
    .digest('hex');
  return `${meta.name.slice(0, MAX_NAME).replace(/[.-]+$/, '')}.${hash.slice(0, 16)}`;
}
