import type { PassiveHealth } from '../../exchange/exchange.ts';

/**
 * Whether a target answers requests to upgrade a connection, as one worker sees it. Many servers close the connection of an upgrade for an
 * unknown path, which any client can choose, and serve all else.
 */
export class UpgradeHealth {
  /** Since its last response to one. */
  private failures = 0;
  /** Until when it gets no more of them, in ms since 1970; 0 if it gets them. */
  private outUntil = 0;

  isOut(now: number): boolean {
    return this.outUntil > now;
  }

  answered(): void {
    this.failures = 0;
    this.outUntil = 0;
  }

  /** @returns whether this failure takes it out. */
  failed(now: number, { fails, outSecs }: PassiveHealth): boolean {
    this.failures++;
    if (fails === 0 || this.failures < fails) return false;
    const already = this.isOut(now);
    this.outUntil = now + outSecs * 1_000;
    return !already;
  }

  /** A request to upgrade is about to be sent to it. If it was out, others wait for the result. */
  tryAgain(now: number, { outSecs }: PassiveHealth): void {
    if (this.outUntil > 0 && !this.isOut(now)) this.outUntil = now + outSecs * 1_000;
  }
}
