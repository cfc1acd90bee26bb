import { TYPE } from '../frames/frame.ts';
import type { Output } from '../output.ts';

/**
 * How many streams of a target are reset within a period (ms). Netty's servers end a connection on which more than 200 are within
 * 30 s, and those of nghttp2 after a thousand, or more than 33 a second (CVE-2023-44487). The periods of both sides begin at different times.
 */
const MOST = 100;
const PERIOD_MS = 30_000;

/** The RST_STREAM frames that a connection sends. */
export class Resets {
  private readonly output: Output;
  private readonly isLimited: boolean;
  private count = 0;
  private since = Number.NEGATIVE_INFINITY;
  private waiting: { readonly stream: number; readonly code: number }[] = [];

  /** `isLimited`: whether those beyond that number wait. */
  constructor(output: Output, isLimited: boolean) {
    this.output = output;
    this.isLimited = isLimited;
  }

  /** Whether there were so many that a server may soon end the connection. */
  get areMany(): boolean {
    return this.count >= MOST;
  }

  /** How many streams were reset of which the peer has not been told yet, so that they count as open for it. */
  get waitingCount(): number {
    return this.waiting.length;
  }

  /** `now` in ms on the monotonic clock. */
  send(stream: number, code: number, now: number): void {
    this.beginPeriod(now);
    if (this.isLimited && this.areMany) this.waiting.push({ stream, code });
    else this.write(stream, code);
  }

  private beginPeriod(now: number): void {
    if (now - this.since < PERIOD_MS) return;
    this.since = now;
    this.count = 0;
  }

  private write(stream: number, code: number): void {
    this.count++;
    this.output.frame(TYPE.rstStream, 0, stream, code);
  }

  /** Sends the oldest that waits, regardless of the limit. @returns whether there was one. */
  sendNext(): boolean {
    const next = this.waiting.shift();
    if (next !== undefined) this.write(next.stream, next.code);
    return next !== undefined;
  }

  /** Called periodically, with ms on the monotonic clock. @returns whether it has sent any that had to wait. */
  sweep(now: number): boolean {
    if (this.waiting.length === 0) return false;
    this.beginPeriod(now);
    const next = this.waiting.splice(0, Math.max(0, MOST - this.count));
    for (const { stream, code } of next) this.write(stream, code);
    return next.length > 0;
  }
}
