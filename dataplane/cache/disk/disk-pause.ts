import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';

/** How long the disk is left alone after a failure (ms). */
const PAUSE_MS = 30_000;

/** Whether the disk is used: after a failure it isn't for a while. The first failure and the recovery are logged. */
export class DiskPause {
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly path: string;
  private until = 0;
  /** Why it is not used; null if it is. */
  failure: string | null = null;

  constructor(path: string, clock: Clock, log: Log) {
    this.path = path;
    this.clock = clock;
    this.log = log;
  }

  get resting(): boolean {
    return this.failure !== null;
  }

  /** Whether it is time to try again. */
  get due(): boolean {
    return this.resting && this.clock.monotonic() >= this.until;
  }

  begin(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.until = this.clock.monotonic() + PAUSE_MS;
    if (this.failure === null) this.log.warn({ path: this.path, error: reason }, "the cache can't use the disk");
    this.failure = reason;
  }

  end(): void {
    if (this.failure !== null) this.log.info({ path: this.path }, 'the cache can use the disk again');
    this.failure = null;
  }
}
