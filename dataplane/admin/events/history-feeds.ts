import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { RangeQuery } from '../../analytics/history/range.ts';
import { ApiError } from '../http/errors.ts';
import type { Subscribe } from './event-stream.ts';
import { SharedFeed } from './shared-feed.ts';

const HOUR_MS = 3_600_000;
/** How often the history of a period is sent again, by the span of its points (ms). */
const HOURS_EVERY_MS = 10_000;
const DAYS_EVERY_MS = 60_000;

type HistoryFeedsTools = { readonly clock: Clock; readonly log: Log; readonly text: (host: string, range: RangeQuery) => Promise<string> };

/**
 * The histories that streams follow: each is sent at once and then periodically as the event `history`. Streams that follow the same period
 * of the same host get the same event. If there is no history, the event has `error` and the `status` that its endpoint would respond with.
 */
export class HistoryFeeds {
  private readonly tools: HistoryFeedsTools;
  private readonly feeds = new Map<string, SharedFeed>();

  constructor(tools: HistoryFeedsTools) {
    this.tools = tools;
  }

  /** How many different histories are being followed. */
  get size(): number {
    return this.feeds.size;
  }

  of(host: string, range: RangeQuery): Subscribe {
    return (send) => {
      const key = JSON.stringify([host, range]);
      const feed = this.feeds.get(key) ?? this.feedOf(host, range);
      this.feeds.set(key, feed);
      const stop = feed.subscribe((event) => send(event, 'history'));
      return () => {
        stop();
        if (feed.idle) this.feeds.delete(key);
      };
    };
  }

  private feedOf(host: string, range: RangeQuery): SharedFeed {
    const { clock, log, text } = this.tools;
    return new SharedFeed({
      ...{ clock, log, name: 'the history of a stream' },
      everyMs: range.step === HOUR_MS ? HOURS_EVERY_MS : DAYS_EVERY_MS,
      compute: async () => `event: history\ndata: ${await text(host, range).catch(failure)}\n\n`,
    });
  }
}

function failure(error: unknown): string {
  if (error instanceof ApiError) return JSON.stringify({ status: error.status, ...error.body });
  return JSON.stringify({ status: 500, error: error instanceof Error ? error.message : String(error) });
}
