import type { Publisher, RoutesChange } from '../publish/publisher.ts';

/** Publishes routes and tracks whether the latest are served everywhere. */
export class RoutePublication {
  private readonly publisher: Publisher;
  /** The last publication, until every worker serves it. */
  private unserved: Promise<number> | null = null;

  constructor(publisher: Publisher) {
    this.publisher = publisher;
  }

  get generation(): number {
    return this.publisher.generation;
  }

  /** @returns the generation that includes everything so far, once every worker serves it. @throws UnacknowledgedError. */
  publish(routes: RoutesChange | null): Promise<number> {
    const nothing = routes === null || (routes.upserts.length === 0 && routes.removed.length === 0);
    if (nothing && this.unserved === null) return Promise.resolve(this.generation);
    // The table's current state may still be on its way to the workers; another publication proves that it has arrived.
    const served = this.publisher.publish(nothing ? {} : { routes });
    this.unserved = served;
    served.then(
      () => {
        if (this.unserved === served) this.unserved = null;
      },
      // The caller receives the failure; the next change publishes again.
      () => undefined,
    );
    return served;
  }
}
