import type { Clock } from '../../shared/runtime/clock.ts';
import type { Heartbeats } from '../ledger/heartbeats.ts';

/** A worker whose event loop has not moved for this long (ms) is silent. */
const SILENT_MS = 2_000;

/** Tells which workers' event loops hang, from counters that they move. */
export class Watchdog {
  static readonly PERIOD_MS = 250;
  private readonly clock: Clock;
  private readonly heartbeats: Heartbeats;
  private readonly seen = new Map<number, { beat: number; at: number }>();
  private checkedAt: number;

  constructor(clock: Clock, heartbeats: Heartbeats) {
    this.clock = clock;
    this.heartbeats = heartbeats;
    this.checkedAt = clock.monotonic();
  }

  /** A new worker takes over the slot: its time begins now. */
  expect(slot: number): void {
    this.seen.set(slot, { beat: this.heartbeats.read(slot), at: this.clock.monotonic() });
  }

  /** @returns the slots among `watched` that have been silent for 2 s. */
  check(watched: readonly number[]): ReadonlySet<number> {
    const now = this.clock.monotonic();
    // When this thread was held up itself (a suspended machine, a busy main thread), nobody is judged by that time.
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
    return silent;
  }
}
