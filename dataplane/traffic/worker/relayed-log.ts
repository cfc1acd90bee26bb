import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import { LOG_LEVELS, type LogLevel } from '../../../shared/runtime/log/log-level.ts';
import type { FromWorker } from '../protocol.ts';

/** Burst and lines per second of one level that a worker may write: clients can cause some of them. */
const BURST = 200;
const PER_SECOND = 5;
/** The same for `debug`, which has to be enabled explicitly. */
const DEBUG_BURST = 2_000;
const DEBUG_PER_SECOND = 200;

/** A token bucket for log lines. */
class Allowance {
  private readonly burst: number;
  private readonly perSecond: number;
  private left: number;
  private at: number;
  /** The number of lines dropped since the last one that was written. */
  dropped = 0;

  constructor(burst: number, perSecond: number, now: number) {
    this.burst = burst;
    this.perSecond = perSecond;
    this.left = burst;
    this.at = now;
  }

  spend(now: number): boolean {
    this.left = Math.min(this.burst, this.left + ((now - this.at) / 1_000) * this.perSecond);
    this.at = now;
    if (this.left < 1) {
      this.dropped++;
      return false;
    }
    this.left--;
    return true;
  }
}

/**
 * A log that the main thread writes. Lines below `minLevel`, or over the rate of their level, are not sent. The next line that is
 * written counts them (`lines_left_out`).
 */
export function relayedLog(minLevel: LogLevel, clock: Clock, post: (message: FromWorker) => void): Log {
  const at = (level: LogLevel) => {
    const debug = level === 'debug';
    const allowance = new Allowance(debug ? DEBUG_BURST : BURST, debug ? DEBUG_PER_SECOND : PER_SECOND, clock.monotonic());
    return (fields: unknown, message?: string) => {
      if (LOG_LEVELS.indexOf(level) < LOG_LEVELS.indexOf(minLevel) || !allowance.spend(clock.monotonic())) return;
      const left = allowance.dropped > 0 && { lines_left_out: allowance.dropped };
      allowance.dropped = 0;
      if (typeof fields === 'string') post({ kind: 'log', level, fields: { ...left }, message: fields });
      else post({ kind: 'log', level, fields: { ...(fields as object), ...left }, message: message ?? '' });
    };
  };
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), fatal: at('fatal') };
}
