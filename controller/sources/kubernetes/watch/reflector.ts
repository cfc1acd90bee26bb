import { createBackoff } from '../../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { ApiFailure, isExpired, isUnknown } from '../api/api-failure.ts';
import type { Cluster, Query } from '../api/cluster.ts';
import { pathOf, type Resource } from './resource.ts';

/** Objects per page of a list. */
const PAGE = 500;
/** The server ends a watch after some time between these (seconds), so that not all clients return at once. */
const WATCH_SECS = { least: 240, most: 480 };
/** The server sends a bookmark about once a minute: a watch that is silent for longer has been cut without a word (ms). */
const SILENT_MS = 150_000;
/** How often a kind of object that is not defined is asked for again (ms). */
const UNKNOWN_MS = 10_000;

export type ReflectorOptions<T> = {
  readonly cluster: Cluster;
  readonly resource: Resource<T>;
  /** null: all. */
  readonly namespace: string | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called after the first list, and whenever an object may have changed. */
  changed(): void;
  /** Called when the API server can't be used, and with null when it can be again. */
  failed(reason: string | null): void;
};

/** The part of every object that identifies it. */
type Identified = { readonly metadata: { readonly namespace?: string; readonly name: string; readonly resourceVersion: string } };

/** Keeps a copy of all objects of one kind: lists them, and then watches from the version of the list, whatever happens to watches. */
export class Reflector<T> {
  /** Whether they have been listed once. What was listed stays while the server is away. */
  synced = false;
  /** By `NAMESPACE/NAME`. */
  objects: ReadonlyMap<string, T> = new Map();
  private readonly options: ReflectorOptions<T>;
  private readonly path: string;
  private failing = false;
  /** The last version seen; null if everything must be listed. */
  private version: string | null = null;
  private relisted: AbortController = new AbortController();

  constructor(options: ReflectorOptions<T>) {
    this.options = options;
    this.path = pathOf(options.resource, options.namespace);
  }

  /** Until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.options;
    const backoff = createBackoff(random);
    while (!signal.aborted) {
      this.relisted = new AbortController();
      try {
        if (this.version === null) await this.list(signal);
        const heard = await this.watch(AbortSignal.any([signal, this.relisted.signal]));
        if (heard) backoff.reset();
        // A server that ends every watch at once is not asked again at once.
        else await sleep(clock, backoff.next(), signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.relisted.signal.aborted) continue;
        if (!(error instanceof ApiFailure)) throw error;
        if (this.options.resource.optional && isUnknown(error)) {
          await this.waitUntilKnown(signal);
          continue;
        }
        if (isExpired(error)) this.version = null;
        else this.fail(error);
        await sleep(clock, backoff.next(), signal);
      }
    }
  }

  /** Lists everything again soon. */
  relist(): void {
    this.version = null;
    this.relisted.abort();
  }

  /** There are none while their kind is not defined. It may be at any time. */
  private async waitUntilKnown(signal: AbortSignal): Promise<void> {
    const { clock, changed } = this.options;
    this.version = null;
    if (!this.synced || this.objects.size > 0) {
      this.objects = new Map();
      this.synced = true;
      changed();
    }
    this.recovered();
    await sleep(clock, UNKNOWN_MS, AbortSignal.any([signal, this.relisted.signal]));
  }

  private async list(signal: AbortSignal): Promise<void> {
    const { cluster, resource } = this.options;
    const found = new Map<string, T>();
    let next: string | null = '';
    let version = '';
    while (next !== null) {
      const query: Query = { ...this.selector(), limit: PAGE, ...(next !== '' && { continue: next }) };
      const page = await cluster.list(this.path, query, signal);
      for (const item of page.items) found.set(keyOf(item), resource.read(item as never));
      ({ next, version } = page);
    }
    this.objects = found;
    this.version = version;
    this.synced = true;
    this.options.changed();
  }

  /** @returns whether anything was heard. */
  private async watch(signal: AbortSignal): Promise<boolean> {
    const { cluster, resource, random, changed } = this.options;
    const timeoutSeconds = Math.round(WATCH_SECS.least + random.fraction() * (WATCH_SECS.most - WATCH_SECS.least));
    const query = { ...this.selector(), resourceVersion: this.version ?? '', allowWatchBookmarks: 'true', timeoutSeconds };
    let heard = false;
    const options = { silentMs: SILENT_MS, signal, opened: () => this.recovered() };
    for await (const { type, object } of cluster.watch(this.path, query, options)) {
      if (signal.aborted) break;
      heard = true;
      this.version = (object as Identified).metadata.resourceVersion;
      if (type === 'BOOKMARK') continue;
      const objects = this.objects as Map<string, T>;
      if (type === 'DELETED') objects.delete(keyOf(object));
      else objects.set(keyOf(object), resource.read(object as never));
      changed();
    }
    return heard;
  }

  private selector(): Query {
    const { fieldSelector } = this.options.resource;
    return fieldSelector === undefined ? {} : { fieldSelector };
  }

  private fail(error: ApiFailure): void {
    const { failed, log } = this.options;
    if (!this.failing) log.warn({ path: this.path, reason: error.message }, 'the cluster cannot be read; routes stay, trying again');
    this.failing = true;
    failed(error.message);
  }

  private recovered(): void {
    if (!this.failing) return;
    this.failing = false;
    this.options.log.info({ path: this.path }, 'the cluster can be read again');
    this.options.failed(null);
  }
}

function keyOf(object: unknown): string {
  const { namespace = '', name } = (object as Identified).metadata;
  return `${namespace}/${name}`;
}
