import { isDeepStrictEqual } from 'node:util';
import { createBackoff } from '../../../../shared/runtime/backoff.ts';
import { type Clock, sleep } from '../../../../shared/runtime/clock.ts';
import type { Log } from '../../../../shared/runtime/log/log.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { ApiFailure, isExpired, isUnknown } from '../api/api-failure.ts';
import type { Cluster, Query } from '../api/cluster.ts';
import { pathOf, type RawObject, type Resource, type SeenStatus, seenStatusOf } from '../api/resource.ts';
import { INGRESS_CLASSES } from '../objects/ingress.ts';

/** Objects per page of a list. */
const PAGE = 500;
/** The server ends a watch after a time between these (seconds), so that clients do not all return at once. */
const WATCH_SECS = { least: 240, most: 480 };
/** The server sends a bookmark about once a minute: a watch that is silent for longer has been lost (ms). */
const SILENT_MS = 150_000;
/** How often a kind of object that is not defined is requested again (ms). */
const UNKNOWN_MS = 10_000;

export type ReflectorOptions<T> = {
  readonly cluster: Cluster;
  readonly resource: Resource<T>;
  /** null: all. */
  readonly namespace: string | null;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Called after each list, and when an object has changed. */
  changed(): void;
  /** Called when the status of an object has changed, by `NAMESPACE/NAME`; null: perhaps of every object. */
  statusChanged?(key: string | null): void;
  /** Called when the API server can't be used, and with null when it can be again. */
  failed(reason: string | null): void;
};

/** Keeps a copy of all objects of one kind: lists them, and then watches from the version of the list on, resuming watches that end. */
export class Reflector<T> {
  /** Whether they have been listed once. Listed objects remain while the server is unavailable. */
  synced = false;
  /** Whether the cluster does not define this kind of object. */
  isUnknown = false;
  /** By `NAMESPACE/NAME`. */
  objects: ReadonlyMap<string, T> = new Map();
  /** Of kinds whose status is kept, by `NAMESPACE/NAME`. */
  statuses: ReadonlyMap<string, SeenStatus> = new Map();
  private readonly options: ReflectorOptions<T>;
  private readonly path: string;
  private failing = false;
  /** The current watch, or the last one: whether it was opened, and whether anything arrived. */
  private watching: 'closed' | 'open' | 'heard' = 'closed';
  /** The last version seen; null if everything must be listed. */
  private version: string | null = null;
  /** Whether a request has failed, or a watch was cut or silent, since the server's version was last compared with that. */
  private mayHaveGoneBack = false;
  private relisted: AbortController = new AbortController();

  constructor(options: ReflectorOptions<T>) {
    this.options = options;
    this.path = pathOf(options.resource, options.namespace);
  }

  /** Runs until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.options;
    const backoff = createBackoff(random);
    while (!signal.aborted) {
      this.relisted = new AbortController();
      this.watching = 'closed';
      try {
        if (this.mayHaveGoneBack) await this.compareVersions(signal);
        if (this.version === null) await this.list(signal);
        await this.watch(AbortSignal.any([signal, this.relisted.signal]));
        // If a server ends every watch immediately, the next one waits.
        if (this.isHeard()) backoff.reset();
        else await sleep(clock, backoff.next(), signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.relisted.signal.aborted) continue;
        if (!(error instanceof ApiFailure)) throw error;
        if (isUnknown(error) && (await this.isUndefined(signal))) {
          await this.waitUntilKnown(signal);
          continue;
        }
        if (signal.aborted) return;
        if (this.isHeard()) backoff.reset();
        this.mayHaveGoneBack = true;
        if (isExpired(error)) this.version = null;
        else if (this.isCut(error))
          this.options.log.debug({ path: this.path, reason: error.message }, 'a watch ended early; another one continues');
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

  /**
   * A server that was restored from a backup has an older version than the last one seen. A watch from that would be open, but silent until
   * it is reached again, and what happened before would be lost, so everything is listed. Versions are numbers that all kinds share.
   */
  private async compareVersions(signal: AbortSignal): Promise<void> {
    const { log } = this.options;
    const { version } = this;
    const current = version === null ? null : await this.currentVersion(signal);
    if (version !== null && current !== null && isOlder(current, version)) {
      log.warn({ path: this.path, version, current }, 'the API server has gone back to an older version; everything is listed again');
      this.version = null;
    }
    this.mayHaveGoneBack = false;
  }

  /** null if it may not be asked for. */
  private async currentVersion(signal: AbortSignal): Promise<string | null> {
    try {
      return (await this.options.cluster.list(pathOf(INGRESS_CLASSES, null), { limit: 1 }, signal)).version;
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 403) return null;
      throw error;
    }
  }

  /** A load balancer in front of the server may answer 404 to everything, so a kind that every server knows has to be there. */
  private async isUndefined(signal: AbortSignal): Promise<boolean> {
    const { cluster, resource } = this.options;
    if (!resource.optional) return false;
    if (this.isUnknown) return true;
    try {
      await cluster.list(pathOf(INGRESS_CLASSES, null), { limit: 1 }, signal);
      return true;
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      // A server that forbids it is there.
      return error.status === 403;
    }
  }

  /** There are no objects while their kind is not defined, which may change at any time. */
  private async waitUntilKnown(signal: AbortSignal): Promise<void> {
    const { clock, changed } = this.options;
    this.version = null;
    if (!this.isUnknown) {
      this.isUnknown = true;
      this.objects = new Map();
      this.statuses = new Map();
      this.synced = true;
      changed();
    }
    this.recovered();
    await sleep(clock, UNKNOWN_MS, AbortSignal.any([signal, this.relisted.signal]));
  }

  private async list(signal: AbortSignal): Promise<void> {
    const { cluster, resource } = this.options;
    const found = new Map<string, T>();
    const statuses = new Map<string, SeenStatus>();
    let next: string | null = '';
    let version = '';
    while (next !== null) {
      const query: Query = { ...this.selector(), limit: PAGE, ...(next !== '' && { continue: next }) };
      const page = await cluster.list(this.path, query, signal);
      for (const item of page.items) {
        const key = keyOf(item);
        found.set(key, this.read(key, item).object);
        if (resource.hasStatus) statuses.set(key, seenStatusOf(item as RawObject));
      }
      ({ next, version } = page);
    }
    this.objects = found;
    this.statuses = statuses;
    this.version = version;
    this.isUnknown = false;
    this.synced = true;
    this.options.changed();
    if (resource.hasStatus) this.options.statusChanged?.(null);
  }

  /** An open watch can end in many ways, which loses nothing. Something is wrong only if no other watch can be opened. */
  private isCut({ status }: ApiFailure): boolean {
    return this.watching !== 'closed' && status === null;
  }

  private isHeard(): boolean {
    return this.watching === 'heard';
  }

  private async watch(signal: AbortSignal): Promise<void> {
    const { cluster, random } = this.options;
    const timeoutSeconds = Math.round(WATCH_SECS.least + random.fraction() * (WATCH_SECS.most - WATCH_SECS.least));
    const query = { ...this.selector(), resourceVersion: this.version ?? '', allowWatchBookmarks: 'true', timeoutSeconds };
    const opened = () => {
      this.watching = 'open';
      this.recovered();
    };
    const options = { silentMs: SILENT_MS, signal, opened };
    for await (const { type, object } of cluster.watch(this.path, query, options)) {
      if (signal.aborted) break;
      this.watching = 'heard';
      this.version = (object as RawObject).metadata.resourceVersion;
      if (type !== 'BOOKMARK') this.applyEvent(type === 'DELETED', object);
    }
  }

  private applyEvent(isDeleted: boolean, item: unknown): void {
    const { resource, changed, statusChanged } = this.options;
    const key = keyOf(item);
    const objects = this.objects as Map<string, T>;
    const statuses = this.statuses as Map<string, SeenStatus>;
    const { object, isNew } = this.read(key, item);
    if (isDeleted) objects.delete(key);
    else objects.set(key, object);
    if (isDeleted) statuses.delete(key);
    else if (resource.hasStatus) statuses.set(key, seenStatusOf(item as RawObject));
    if (isDeleted || isNew) changed();
    if (resource.hasStatus) statusChanged?.(key);
  }

  /** Reuses the object if nothing in it has changed, so that results cached by it are found. */
  private read(key: string, item: unknown): { readonly object: T; readonly isNew: boolean } {
    const { resource } = this.options;
    const read = resource.read(item as never);
    const before = this.objects.get(key);
    const object = before === undefined ? read : (resource.changed?.(before, read) ?? read);
    const isNew = before === undefined || !isDeepStrictEqual(before, object);
    return isNew ? { object, isNew } : { object: before, isNew };
  }

  private selector(): Query {
    const { fieldSelector } = this.options.resource;
    return fieldSelector === undefined ? {} : { fieldSelector };
  }

  private fail(error: ApiFailure): void {
    this.failing = true;
    this.options.failed(error.message);
  }

  private recovered(): void {
    if (!this.failing) return;
    this.failing = false;
    this.options.failed(null);
  }
}

const NUMBER = /^\d+$/;

const isOlder = (one: string, other: string): boolean => NUMBER.test(one) && NUMBER.test(other) && BigInt(one) < BigInt(other);

function keyOf(object: unknown): string {
  const { namespace = '', name } = (object as RawObject).metadata;
  return `${namespace}/${name}`;
}
