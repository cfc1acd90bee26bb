import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';

type SharedFeedTools = {
  readonly clock: Clock;
  readonly log: Log;
  /** For the log, such as `the overview`. */
  readonly name: string;
  readonly everyMs: number;
  /** The text of a server-sent event. If it fails, that is logged, and it is tried again after `everyMs`. */
  readonly compute: () => Promise<string>;
};

/** Computes an event periodically, once for all its readers, and not at all while there are none. */
export class SharedFeed {
  private readonly tools: SharedFeedTools;
  private readonly readers = new Set<(event: string) => void>();
  private stop: () => void = () => undefined;
  private latest: string | null = null;
  private computing = false;

  constructor(tools: SharedFeedTools) {
    this.tools = tools;
  }

  get idle(): boolean {
    return this.readers.size === 0;
  }

  /** Sends the event at once, and then every `everyMs`. @returns a function that ends it. */
  subscribe(reader: (event: string) => void): () => void {
    this.readers.add(reader);
    if (this.readers.size === 1) {
      this.stop = this.tools.clock.every(this.tools.everyMs, () => void this.compute());
      void this.compute();
    } else if (this.latest !== null) reader(this.latest);
    return () => {
      if (!this.readers.delete(reader) || !this.idle) return;
      this.stop();
      this.latest = null;
    };
  }

  /** One that takes longer than the period is not overtaken by the next. */
  private async compute(): Promise<void> {
    if (this.computing) return;
    this.computing = true;
    try {
      const event = await this.tools.compute();
      if (this.idle) return;
      this.latest = event;
      for (const reader of this.readers) reader(event);
    } catch (error) {
      const { log, name } = this.tools;
      log.error({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, `${name} failed`);
    } finally {
      this.computing = false;
    }
  }
}
