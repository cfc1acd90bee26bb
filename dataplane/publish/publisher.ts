import { packEntries } from '../traffic/match/packed.ts';
import type { EntriesPublication, Publication, TrafficSettings } from '../traffic/protocol.ts';
import type { Workers } from '../workers/workers.ts';

/** A change of the served routes: each as the JSON of its RouteSpec, already judged and saved. */
export type RoutesChange = {
  /** true: `upserts` are all the routes there are. */
  readonly whole: boolean;
  readonly upserts: readonly { readonly domain: string; readonly json: string }[];
  readonly removed: readonly string[];
};

/** Not every worker serves the state within 5 s. It is published all the same and will be served. */
export class UnacknowledgedError extends Error {}

/** How long an acknowledgement is waited for (ms). */
const ACKNOWLEDGE_MS = 5_000;

export type Change = { readonly routes?: RoutesChange; readonly settings?: TrafficSettings };

/** The only way from the main thread to the workers. */
export interface Publisher {
  /** The last generation that was published. */
  readonly generation: number;
  /**
   * Publishes one state, swapped in by each worker in one turn of its event loop.
   * @returns its generation, once every worker serves it.
   * @throws UnacknowledgedError after 5 s.
   */
  publish(change: Change): Promise<number>;
}

/** Holds what is published as a whole, so that a worker that starts late starts with all of it. */
export class StatePublisher implements Publisher {
  generation = 1;
  private readonly routes = new Map<string, string>();
  private settings: TrafficSettings;
  private workers: Workers | null = null;

  constructor(routes: RoutesChange, settings: TrafficSettings) {
    for (const { domain, json } of routes.upserts) this.routes.set(domain, json);
    this.settings = settings;
  }

  /** From now on changes go to these workers. */
  attach(workers: Workers): void {
    this.workers = workers;
  }

  /** Everything there is, for a worker that starts. */
  state(): Publication {
    const all = [...this.routes].map(([domain, json]) => ({ domain, json }));
    return { generation: this.generation, routes: { whole: true, ...packEntries(all), removed: [] }, settings: this.settings };
  }

  async publish(change: Change): Promise<number> {
    const generation = ++this.generation;
    if (change.settings !== undefined) this.settings = change.settings;
    if (change.routes !== undefined) this.keep(change.routes);
    const { workers } = this;
    if (workers === null) return generation;
    const publication = {
      generation,
      ...(change.routes && { routes: packed(change.routes) }),
      ...(change.settings && { settings: change.settings }),
    };
    workers.broadcast(publication);
    if (await workers.served(generation, ACKNOWLEDGE_MS)) return generation;
    throw new UnacknowledgedError('the change is saved, but not every worker serves it yet');
  }

  private keep(change: RoutesChange): void {
    if (change.whole) this.routes.clear();
    for (const domain of change.removed) this.routes.delete(domain);
    for (const { domain, json } of change.upserts) this.routes.set(domain, json);
  }
}

const packed = (change: RoutesChange): EntriesPublication => ({
  whole: change.whole,
  ...packEntries(change.upserts),
  removed: change.removed,
});
