import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Overview } from '../../../shared/wire/dashboard.ts';

/** How often the overview is computed while anyone reads it (ms). */
const PERIOD_MS = 2_000;

type OverviewFeedTools = { readonly clock: Clock; readonly log: Log; readonly overview: () => Promise<Overview> };

/** Computes the overview once for all its readers, and not at all while there are none. */
export class OverviewFeed {
  private readonly tools: OverviewFeedTools;
  private readonly readers = new Set<(event: string) => void>();
  private stop: () => void = () => undefined;
  private latest: string | null = null;
  private computing = false;

  constructor(tools: OverviewFeedTools) {
    this.tools = tools;
  }

  /** Sends the overview at once, and then every two seconds, as the text of a server-sent event. @returns a function that ends it. */
  subscribe(reader: (event: string) => void): () => void {
    this.readers.add(reader);
    if (this.readers.size === 1) {
      this.stop = this.tools.clock.every(PERIOD_MS, () => void this.compute());
      void this.compute();
    } else if (this.latest !== null) reader(this.latest);
    return () => {
      if (!this.readers.delete(reader) || this.readers.size > 0) return;
      this.stop();
      this.latest = null;
    };
  }

  /** One that takes longer than the period is not overtaken by the next. */
  private async compute(): Promise<void> {
    if (this.computing) return;
    this.computing = true;
    try {
      const overview = await this.tools.overview();
      if (this.readers.size === 0) return;
      this.latest = `event: overview\ndata: ${JSON.stringify(overview)}\n\n`;
      for (const reader of this.readers) reader(this.latest);
    } catch (error) {
      this.tools.log.error({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, 'the overview failed');
    } finally {
      this.computing = false;
    }
  }
}
