/** How long a body may make no progress, in either direction (ms). */
const IDLE_MS = 60_000;

/** Whether the bodies of a stream make progress. */
export class Progress {
  private since: number;
  private seen = 0;

  /** `now` in ms on the monotonic clock. */
  constructor(now: number) {
    this.since = now;
  }

  /** Called periodically. `bytes`: a sum that changes with any progress; `excused`: none can be expected. @returns whether it took too long. */
  isOverdue(now: number, bytes: number, excused: boolean): boolean {
    if (bytes === this.seen && !excused) return now - this.since >= IDLE_MS;
    this.seen = bytes;
    this.since = now;
    return false;
  }
}
