import type { Clock } from '../../shared/runtime/clock.ts';
import type { Heartbeats } from '../ledger/heartbeats.ts';

/** A worker whose event loop is blocked for this long (ms) is silent. */
const SILENT_MS = 2_000;

/** Detects workers whose event loops hang, from counters that they increment. */
export class Watchdog {
  static readonly PERIOD_MS = 250;
  private readonly clock: Clock;
  private readonly heartbeats: Heartbeats;
  private readonly seen = new Map<number, { beat: number; at: number }>();
  private silent: ReadonlySet<number> = new Set();
  private checkedAt: number;

  constructor(clock: Clock, heartbeats: Heartbeats) {
    this.clock = clock;
    this.heartbeats = heartbeats;
    this.checkedAt = clock.monotonic();
  }

  /** Called when a new worker uses the slot. Its timeout starts when it is first watched, so a slow start does not count. */
  forget(slot: number): void {
    this.seen.delete(slot);
  }

  /** @returns the slots among `watched` that have been silent for 2 s. */
  check(watched: readonly number[]): ReadonlySet<number> {
    const now = this.clock.monotonic();
    // If this thread itself was delayed (a suspended machine, a busy main thread), that time does not count against the workers.
    const late = now - this.checkedAt - Watchdog.PERIOD_MS;
    this.checkedAt = now;
    const silent = new Set<number>();
    for (const slot of watched) {
      const beat = this.heartbeats.read(slot);
      const last = this.seen.get(slot);
      if (last === undefined || last.beat !== beat) this.seen.set(slot, { beat, at: now });
      else {
        if (late > Watchdog.PERIOD_MS) last.at += late;
        if (now - last.at >= SILENT_MS) silent.add(slot);
      }
    }
    this.silent = silent;
    return silent;
  }

  /** Whether a slot was silent at the latest check. */
  isSilent(slot: number): boolean {
    return this.silent.has(slot);
  }
}
