import { clientNetwork } from '../../../ledger/client-network.ts';
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
  /** For how long that is (ms): more time is left only if the clock has been set back. */
  private outMs = 0;
  /** Whose requests all of them were: it is out for this client only. null if they were not all of one. */
  private client: string | null = null;

  isOut(now: number, address: string): boolean {
    return this.outAt(now) && (this.client === null || this.client === clientNetwork(address));
  }

  answered(): void {
    this.failures = 0;
    this.outUntil = 0;
  }

  /** @returns whether this failure takes it out. */
  failed(now: number, address: string, { fails, outSecs }: PassiveHealth): boolean {
    const client = clientNetwork(address);
    this.client = this.failures === 0 || this.client === client ? client : null;
    this.failures++;
    if (fails === 0 || this.failures < fails) return false;
    const already = this.outAt(now);
    this.outFor(outSecs, now);
    return !already;
  }

  /** A request to upgrade is about to be sent to it. If it was out, others wait for the result. */
  tryAgain(now: number, { outSecs }: PassiveHealth): void {
    if (this.outUntil > 0 && !this.outAt(now)) this.outFor(outSecs, now);
  }

  private outAt(now: number): boolean {
    return this.outUntil > now && this.outUntil - now <= this.outMs;
  }

  private outFor(secs: number, now: number): void {
    this.outMs = secs * 1_000;
    this.outUntil = now + this.outMs;
  }
}
