import type { TrafficSettings } from '../traffic/protocol.ts';

/** A change of the served routes: each as the JSON of its RouteSpec, already judged and saved. */
export type RoutesChange = {
  /** true: `upserts` are all the routes there are. */
  readonly whole: boolean;
  readonly upserts: readonly { readonly domain: string; readonly json: string }[];
  readonly removed: readonly string[];
};

/** Not every worker serves the state within 5 s. It is published all the same and will be served. */
export class UnacknowledgedError extends Error {}

/** The only way from the main thread to the workers. */
export interface Publisher {
  /** The last generation that was published. */
  readonly generation: number;
  /**
   * Publishes one state, swapped in by each worker in one turn of its event loop.
   * @returns its generation, once every worker serves it.
   * @throws UnacknowledgedError after 5 s.
   */
  publish(change: { readonly routes?: RoutesChange; readonly settings?: TrafficSettings }): Promise<number>;
}
