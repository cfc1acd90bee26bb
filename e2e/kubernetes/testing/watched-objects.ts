import { setTimeout as wait } from 'node:timers/promises';
import type { ApiServer } from './api-server.ts';

type ObjectList<T> = { readonly metadata: { readonly resourceVersion: string }; readonly items: readonly T[] };
type WatchEvent<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; readonly object: T };
type Watchable = { readonly metadata: { readonly name: string; readonly namespace?: string } };

/** While the API server is away. */
const AGAIN_MS = 100;

/**
 * The objects of a list of the API server as they are now, by `NAMESPACE/NAME`. They are listed once and then watched: a list every moment
 * would cost the API server and the tests more CPU time than all that they do about its changes.
 */
export class WatchedObjects<T extends Watchable> {
  private readonly objects = new Map<string, T>();
  private readonly cluster: ApiServer;
  private readonly path: string;
  private readonly ended = new AbortController();
  private following: Promise<void> = Promise.resolve();

  private constructor(cluster: ApiServer, path: string) {
    this.cluster = cluster;
    this.path = path;
  }

  /** Returns once they are listed. @param path of the list, with a query if only some of its objects are meant. @throws if that fails. */
  static async start<T extends Watchable>(cluster: ApiServer, path: string): Promise<WatchedObjects<T>> {
    const watched = new WatchedObjects<T>(cluster, path);
    const version = await watched.list();
    watched.following = watched.follow(version);
    return watched;
  }

  get(namespace: string, name: string): T | undefined {
    return this.objects.get(`${namespace}/${name}`);
  }

  values(): Iterable<T> {
    return this.objects.values();
  }

  entries(): Iterable<[key: string, object: T]> {
    return this.objects.entries();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.ended.abort();
    await this.following;
  }

  /** @returns the version from which to watch. */
  private async list(): Promise<string> {
    const { metadata, items } = await this.cluster.api<ObjectList<T>>('GET', this.path);
    this.objects.clear();
    for (const item of items) this.objects.set(keyOf(item), item);
    return metadata.resourceVersion;
  }

  private async follow(first: string): Promise<void> {
    const { signal } = this.ended;
    let version: string | undefined = first;
    while (!signal.aborted) {
      try {
        version ??= await this.list();
        await this.watch(version);
        version = undefined;
      } catch (error) {
        version = undefined;
        // It is unavailable, or no longer has that version. Any other failure would happen again, and the waiting tests would report it.
        if (!signal.aborted) await wait(AGAIN_MS, error, { signal }).catch(() => undefined);
      }
    }
  }

  private async watch(version: string): Promise<void> {
    const query = `${this.path.includes('?') ? '&' : '?'}watch=1&resourceVersion=${version}`;
    for await (const line of this.cluster.lines(`${this.path}${query}`, this.ended.signal)) {
      const { type, object } = JSON.parse(line) as WatchEvent<T>;
      if (type === 'ERROR') return;
      if (type === 'DELETED') this.objects.delete(keyOf(object));
      else if (type !== 'BOOKMARK') this.objects.set(keyOf(object), object);
    }
  }
}

const keyOf = ({ metadata: { namespace = '', name } }: Watchable): string => `${namespace}/${name}`;
