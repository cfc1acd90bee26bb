import type { Priority } from './priority.ts';

/** The priorities of requests that have not arrived yet: PRIORITY_UPDATE may overtake them (RFC 9218 7.1). */
export class PendingPriorities {
  private readonly byStream = new Map<number, Priority>();

  /** Sets the priority of a request. @returns false, and does nothing, if there would be more than `maxPending`. */
  set(stream: number, priority: Priority, maxPending: number): boolean {
    if (this.byStream.size >= maxPending && !this.byStream.has(stream)) return false;
    this.byStream.set(stream, priority);
    return true;
  }

  /** The request on a stream has arrived, so none will arrive on a lower one (RFC 9113 5.1.1). @returns its priority, if there is one. */
  removeUpTo(stream: number): Priority | undefined {
    const priority = this.byStream.get(stream);
    for (const pending of this.byStream.keys()) if (pending <= stream) this.byStream.delete(pending);
    return priority;
  }
}
