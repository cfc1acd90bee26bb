import { packEntries, type RawEntry } from '../traffic/match/packed.ts';
import type { EntriesPublication, PublishedChallenge, PublishedKeySet, TrafficSettings, WholeState } from '../traffic/protocol.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';

/** A change of named entries as validated JSON: saved routes, or certificates. */
export type EntriesChange<Entry extends NamedEntry = NamedEntry> = {
  /** true if `upserts` is the complete set. */
  readonly whole: boolean;
  readonly upserts: readonly Entry[];
  readonly removed: readonly string[];
};

export type NamedEntry = RawEntry;

/** The facts that watchers of routes need, so that they only parse the routes that concern them: see RouteFacts. */
export type RouteEntry = Required<NamedEntry> & {
  readonly healthChecks: boolean;
  readonly fetchesKeys: boolean;
  readonly passesTls: boolean;
};
export type RoutesChange = EntriesChange<RouteEntry>;

/** Not every worker acknowledged the state within 5 s. It is published anyway and will be served. */
export class UnacknowledgedError extends Error {}

/** How long to wait for acknowledgements (ms). */
const ACKNOWLEDGE_MS = 5_000;

export type StateChange = {
  readonly routes?: RoutesChange;
  /** By the name each is served for: see PublishedCertificate. */
  readonly certificates?: EntriesChange;
  /** All pending challenges. */
  readonly challenges?: readonly PublishedChallenge[];
  /** Names that have no certificate and none being ordered. */
  readonly uncertified?: readonly string[];
  /** 48 bytes. */
  readonly ticketKeys?: Uint8Array;
  readonly settings?: TrafficSettings;
  /** All keys of issuers that are fetched. */
  readonly keySets?: readonly PublishedKeySet[];
};

/** The only way from the main thread to the workers. */
export interface Publisher {
  /** The last published generation. */
  readonly generation: number;
  /**
   * Publishes a change, which each worker swaps in in one turn of its event loop.
   * @returns its generation, once every worker serves it.
   * @throws UnacknowledgedError after 5 s.
   */
  publish(change: StateChange): Promise<number>;
}

/** Keeps the whole published state, so that a new worker can start with it. */
export class StatePublisher implements Publisher {
  generation = 1;
  private readonly routes = new PublishedEntries();
  private readonly certificates = new PublishedEntries();
  private rest: Omit<WholeState, 'generation' | 'routes' | 'certificates'>;
  private workers: WorkerPool | null = null;
  private readonly routeWatchers: ((change: RoutesChange) => void)[] = [];

  constructor(routes: EntriesChange, settings: TrafficSettings) {
    this.routes.apply(routes);
    this.rest = { challenges: [], uncertified: [], settings };
  }

  /** Sets the workers that changes are sent to. */
  attach(workers: WorkerPool): void {
    this.workers = workers;
  }

  /** Calls back with every published change of routes, when it is sent to the workers. */
  onRoutes(watcher: (change: RoutesChange) => void): void {
    this.routeWatchers.push(watcher);
  }

  /** The whole state, for a new worker. */
  currentState(): WholeState {
    return { generation: this.generation, routes: this.routes.all(), certificates: this.certificates.all(), ...this.rest };
  }

  async publish(change: StateChange): Promise<number> {
    const generation = ++this.generation;
    const { routes, certificates, ...rest } = change;
    this.rest = { ...this.rest, ...rest };
    if (routes !== undefined) {
      this.routes.apply(routes);
      for (const watcher of this.routeWatchers) watcher(routes);
    }
    if (certificates !== undefined) this.certificates.apply(certificates);
    const { workers } = this;
    if (workers === null) return generation;
    const publication = {
      generation,
      ...(routes && { routes: packEntriesChange(routes) }),
      ...(certificates && { certificates: packEntriesChange(certificates) }),
      ...rest,
    };
    workers.broadcast(publication);
    if (await workers.whenServed(generation, ACKNOWLEDGE_MS)) return generation;
    throw new UnacknowledgedError('the change is saved, but not every worker serves it yet');
  }
}

/** The entries published so far. */
class PublishedEntries {
  private readonly byDomain = new Map<string, string>();
  /** The wildcards that stand for several labels. */
  private readonly deep = new Set<string>();

  apply(change: EntriesChange): void {
    if (change.whole) {
      this.byDomain.clear();
      this.deep.clear();
    }
    for (const domain of change.removed) {
      this.byDomain.delete(domain);
      this.deep.delete(domain);
    }
    for (const { domain, json, severalLabels } of change.upserts) {
      this.byDomain.set(domain, json);
      if (severalLabels) this.deep.add(domain);
      else this.deep.delete(domain);
    }
  }

  all(): EntriesPublication {
    const upserts = [...this.byDomain].map(([domain, json]) => ({ domain, json, severalLabels: this.deep.has(domain) }));
    return packEntriesChange({ whole: true, upserts, removed: [] });
  }
}

const packEntriesChange = (change: EntriesChange): EntriesPublication => ({
  whole: change.whole,
  ...packEntries(change.upserts),
  removed: change.removed,
});
