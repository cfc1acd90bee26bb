import type { ServiceEvent } from '../../../shared/wire/events.ts';

/** Passes events to the current subscribers. */
export class EventFeed {
  private readonly listeners = new Set<(event: ServiceEvent) => void>();

  emit(event: ServiceEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  /** @returns a function that unsubscribes. */
  subscribe(listener: (event: ServiceEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
