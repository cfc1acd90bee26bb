import type { Clock } from '../../../shared/runtime/clock.ts';
import type { DataplaneStatus } from '../../../shared/wire/status.ts';
import type { EventFeed } from '../events/event-feed.ts';
import { ApiError } from '../http/errors.ts';
import type { ControllerStreams, ReloadResult } from './controller-streams.ts';

const COOLDOWN_MS = 5_000;
/** How long to wait for an outcome (ms). A mass removal is held back for 5 s of it. */
const WAIT_MS = 30_000;

/** POST /reload: at most once every five seconds, through the controllers that have a config file. */
export class Reload {
  last: DataplaneStatus['last_reload'] = null;
  private readonly clock: Clock;
  private readonly streams: ControllerStreams;
  private readonly events: EventFeed;
  private readonly outcome: (ok: boolean) => void;
  private triggeredAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, streams: ControllerStreams, events: EventFeed, outcome: (ok: boolean) => void) {
    this.clock = clock;
    this.streams = streams;
    this.events = events;
    this.outcome = outcome;
  }

  /**
   * Starts a reload. @returns its outcome, which need not be awaited. @throws ApiError if no controller can reload or the cooldown is
   * active.
   */
  trigger(): Promise<ReloadResult | null> {
    if (!this.streams.reloadable) throw new ApiError('noReload');
    const wait = this.triggeredAt + COOLDOWN_MS - this.clock.monotonic();
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1_000);
      throw new ApiError('reloadTooSoon', '', { headers: { 'retry-after': `${seconds}` }, body: { retry_after: seconds } });
    }
    this.triggeredAt = this.clock.monotonic();
    return this.streams.reload(WAIT_MS).then((result) => {
      if (result !== null) this.note(result);
      return result;
    });
  }

  /** Called when a controller with a config file reports its errors, with or without a reload. */
  loaded(errors: readonly string[]): void {
    const same = this.last !== null && this.last.errors.join('\n') === errors.join('\n');
    if (!same) this.note({ errors, applied: null });
  }

  private note({ errors }: ReloadResult): void {
    const ok = errors.length === 0;
    this.last = { at: new Date(this.clock.now()).toISOString(), ok, errors: [...errors] };
    this.outcome(ok);
    this.events.emit({ kind: 'reload', ok, errors: [...errors] });
  }
}
