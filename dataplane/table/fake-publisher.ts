import { type Change, type Publisher, UnacknowledgedError } from '../publish/publisher.ts';

/** Workers that serve at once what is published, or never, as a test wants it. */
export class FakePublisher implements Publisher {
  generation = 1;
  /** What visitors are served: JSON by domain. */
  readonly served = new Map<string, string>();
  readonly changes: Change[] = [];
  acknowledges = true;

  publish(change: Change): Promise<number> {
    this.generation++;
    this.changes.push(change);
    const { routes } = change;
    if (routes?.whole === true) this.served.clear();
    for (const domain of routes?.removed ?? []) this.served.delete(domain);
    for (const { domain, json } of routes?.upserts ?? []) this.served.set(domain, json);
    if (this.acknowledges) return Promise.resolve(this.generation);
    return Promise.reject(new UnacknowledgedError('the change is saved, but not every worker serves it yet'));
  }
}
