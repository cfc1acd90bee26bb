import type { Clock } from '../../../shared/runtime/clock.ts';
import { DAY } from './store.ts';

/** How far the time of day may differ from the expected time (ms), for example because the process was suspended for a while. */
const TOLERATED_MS = 2 * DAY;
/** An unexpected time is accepted when it has lasted this long (ms). */
const ACCEPTED_AFTER_MS = DAY;

/**
 * Whether the time of day may decide what is old enough to be deleted. A clock that is set years ahead by mistake, or by an empty battery,
 * would delete the whole history within seconds, so an unexpected time has to last for a day.
 */
export class PlausibleClock {
  private readonly clock: Clock;
  /** The last time of day that was accepted, and when that was on the monotonic clock. */
  private accepted: number;
  private acceptedAt: number;
  private implausibleSince: number | null = null;

  /** `accepted`: the last time of day that was accepted, in an earlier process (ms since 1970); 0 if there is none. */
  constructor(clock: Clock, accepted: number) {
    this.clock = clock;
    this.accepted = accepted || clock.now();
    this.acceptedAt = clock.monotonic();
  }

  /** How far the time of day is ahead of what is expected (ms); negative if it is behind. */
  get ahead(): number {
    return this.clock.now() - this.accepted - (this.clock.monotonic() - this.acceptedAt);
  }

  /** @returns the time of day (ms since 1970); null while it is not plausible. */
  read(): number | null {
    const at = this.clock.monotonic();
    if (Math.abs(this.ahead) > TOLERATED_MS) {
      this.implausibleSince ??= at;
      if (at - this.implausibleSince < ACCEPTED_AFTER_MS) return null;
    }
    this.implausibleSince = null;
    this.accepted = this.clock.now();
    this.acceptedAt = at;
    return this.accepted;
  }
}
