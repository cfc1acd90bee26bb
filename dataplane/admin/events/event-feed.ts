import type { ServiceEvent } from '../../../shared/wire/events.ts';

/** What happens, told to whoever listens right now. */
export class EventFeed {
  private readonly listeners = new Set<(event: ServiceEvent) => void>();

  emit(event: ServiceEvent): void {
    for (const listener of this.listeners) listener(event);
  }

  /** @returns the way to stop listening. */
  subscribe(listener: (event: ServiceEvent) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
