import { packEntries } from '../traffic/match/packed.ts';
import type { EntriesPublication, PublishedChallenge, TrafficSettings, WholeState } from '../traffic/protocol.ts';
import type { WorkerPool } from '../workers/worker-pool.ts';

/** A change of what stands under names, as JSON that has been judged already: routes, saved before, or certificates. */
export type EntriesChange<Entry extends NamedEntry = NamedEntry> = {
  /** true: `upserts` are all there are. */
  readonly whole: boolean;
  readonly upserts: readonly Entry[];
  readonly removed: readonly string[];
};

export type NamedEntry = { readonly domain: string; readonly json: string };

/** `healthChecks`: whether the health of a target is checked or probed. */
export type PublishedRoute = NamedEntry & { readonly healthChecks: boolean };
export type RoutesChange = EntriesChange<PublishedRoute>;

/** Not every worker serves the state within 5 s. It is published all the same and will be served. */
export class UnacknowledgedError extends Error {}

/** How long an acknowledgement is waited for (ms). */
const ACKNOWLEDGE_MS = 5_000;

export type StateChange = {
  readonly routes?: RoutesChange;
  /** By the name that each is shown for: see PublishedCertificate. */
  readonly certificates?: EntriesChange;
  /** All that are awaited now. */
  readonly challenges?: readonly PublishedChallenge[];
  /** Names that no certificate could be had for, and none is being ordered now. */
  readonly uncertified?: readonly string[];
  /** 48 bytes. */
  readonly ticketKeys?: Uint8Array;
  readonly settings?: TrafficSettings;
};

/** The only way from the main thread to the workers. */
export interface Publisher {
  /** The last generation that was published. */
  readonly generation: number;
  /**
   * Publishes one state, swapped in by each worker in one turn of its event loop.
   * @returns its generation, once every worker serves it.
   * @throws UnacknowledgedError after 5 s.
   */
  publish(change: StateChange): Promise<number>;
}

/** Holds what is published as a whole, so that a worker that starts late starts with all of it. */
export class StatePublisher implements Publisher {
  generation = 1;
  private readonly routes = new PublishedEntries();
  private readonly certificates = new PublishedEntries();
  private challenges: readonly PublishedChallenge[] = [];
  private uncertified: readonly string[] = [];
  private ticketKeys: Uint8Array | null = null;
  private settings: TrafficSettings;
  private workers: WorkerPool | null = null;
  private readonly routeWatchers: ((change: RoutesChange) => void)[] = [];

  constructor(routes: EntriesChange, settings: TrafficSettings) {
    this.routes.apply(routes);
    this.settings = settings;
  }

  /** From now on changes go to these workers. */
  attach(workers: WorkerPool): void {
    this.workers = workers;
  }

  /** Calls back with the routes that are published from now on, at the moment at which workers are told. */
  onRoutes(watcher: (change: RoutesChange) => void): void {
    this.routeWatchers.push(watcher);
  }

  /** Everything there is, for a worker that starts. */
  currentState(): WholeState {
    return {
      generation: this.generation,
      routes: this.routes.all(),
      certificates: this.certificates.all(),
      challenges: this.challenges,
      uncertified: this.uncertified,
      ...(this.ticketKeys && { ticketKeys: this.ticketKeys }),
      settings: this.settings,
    };
  }

  async publish(change: StateChange): Promise<number> {
    const generation = ++this.generation;
    const { routes, certificates, challenges, uncertified, ticketKeys, settings } = change;
    if (settings !== undefined) this.settings = settings;
    if (challenges !== undefined) this.challenges = challenges;
    if (uncertified !== undefined) this.uncertified = uncertified;
    if (ticketKeys !== undefined) this.ticketKeys = ticketKeys;
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
      ...(challenges && { challenges }),
      ...(uncertified && { uncertified }),
      ...(ticketKeys && { ticketKeys }),
      ...(settings && { settings }),
    };
    workers.broadcast(publication);
    if (await workers.whenServed(generation, ACKNOWLEDGE_MS)) return generation;
    throw new UnacknowledgedError('the change is saved, but not every worker serves it yet');
  }
}

/** What has been published under names so far. */
class PublishedEntries {
  private readonly byDomain = new Map<string, string>();

  apply(change: EntriesChange): void {
    if (change.whole) this.byDomain.clear();
    for (const domain of change.removed) this.byDomain.delete(domain);
    for (const { domain, json } of change.upserts) this.byDomain.set(domain, json);
  }

  all(): EntriesPublication {
    return packEntriesChange({ whole: true, upserts: [...this.byDomain].map(([domain, json]) => ({ domain, json })), removed: [] });
  }
}

const packEntriesChange = (change: EntriesChange): EntriesPublication => ({
  whole: change.whole,
  ...packEntries(change.upserts),
  removed: change.removed,
});
