/** Limits for reading the rest of a body after its response: bytes, milliseconds in total, and milliseconds between two pieces. */
const MAX_DRAIN_BYTES = 67_108_864;
const MAX_DRAIN_MS = 30_000;
const IDLE_MS = 5_000;

/**
 * The rest of a body whose request has been answered. It is not needed (RFC 9113 8.1), but some clients treat a reset while
 * they are sending as a failure, or retry forever (curl 7.88), so it is read for a while.
 */
export class Drain {
  private readonly since: number;
  private bytes = 0;
  private bytesBefore = 0;
  private heardAt: number;

  /** `now` in milliseconds on the monotonic clock. */
  constructor(now: number) {
    this.since = now;
    this.heardAt = now;
  }

  /** Discards bytes. @returns whether more may follow. */
  discard(bytes: number): boolean {
    this.bytes += bytes;
    return this.bytes <= MAX_DRAIN_BYTES;
  }

  /** Whether a limit has been reached. */
  over(now: number): boolean {
    if (this.bytes !== this.bytesBefore) this.heardAt = now;
    this.bytesBefore = this.bytes;
    return this.bytes > MAX_DRAIN_BYTES || now - this.since >= MAX_DRAIN_MS || now - this.heardAt >= IDLE_MS;
  }
}
