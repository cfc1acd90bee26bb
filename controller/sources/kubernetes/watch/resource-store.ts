import { pathOf, type Resource, type SeenStatus } from '../api/resource.ts';
import { Reflector, type ReflectorOptions } from './reflector.ts';

type ResourceStoreOptions<T> = Omit<ReflectorOptions<T>, 'namespace' | 'failed' | 'resource'> & {
  readonly resource: Resource<T>;
  /** null: all. */
  readonly namespaces: readonly string[] | null;
  /** `place` is the list that can't be read, with its selector; `reason` is null when it can be again. */
  failed(place: string, reason: string | null): void;
};

/** The objects of one kind, of one, several or all namespaces. */
export class ResourceStore<T> {
  readonly resource: Resource<T>;
  private readonly reflectors: readonly Reflector<T>[];

  constructor({ resource, namespaces, failed, ...options }: ResourceStoreOptions<T>) {
    this.resource = resource;
    const places = resource.namespaced ? (namespaces ?? [null]) : [null];
    this.reflectors = places.map((namespace) => {
      const path = pathOf(resource, namespace);
      // Several kinds may be objects of one path that differ in their type, such as Secrets.
      const place = resource.fieldSelector === undefined ? path : `${path}?fieldSelector=${resource.fieldSelector}`;
      return new Reflector({ ...options, resource, namespace, failed: (reason) => failed(place, reason) });
    });
  }

  /** Whether all namespaces have been listed. */
  get synced(): boolean {
    return this.reflectors.every(({ synced }) => synced);
  }

  /** Whether the cluster does not define this kind of object. */
  get isUnknown(): boolean {
    return this.reflectors.some(({ isUnknown }) => isUnknown);
  }

  get size(): number {
    return this.reflectors.reduce((size, { objects }) => size + objects.size, 0);
  }

  /** By `NAMESPACE/NAME`. */
  objects(): ReadonlyMap<string, T> {
    const [first] = this.reflectors;
    if (first !== undefined && this.reflectors.length === 1) return first.objects;
    return new Map(this.reflectors.flatMap(({ objects }) => [...objects]));
  }

  /** The status of one of them; undefined if there is no such object. */
  status(key: string): SeenStatus | undefined {
    for (const { statuses } of this.reflectors) {
      const found = statuses.get(key);
      if (found) return found;
    }
    return undefined;
  }

  relist(): void {
    for (const reflector of this.reflectors) reflector.relist();
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.reflectors.map((reflector) => reflector.run(signal)));
  }
}
