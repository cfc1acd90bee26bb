/** How long the peer may take to acknowledge our SETTINGS, and to send anything after a PING (ms). */
const SETTINGS_MS = 20_000;
const PING_MS = 30_000;
/** After this much silence with a stream open, a PING is sent (ms). */
const SILENCE_MS = 30_000;
/** The time from one PING to the next (ms). gRPC servers end connections that send several in five minutes. */
const BETWEEN_MS = { client: 0, target: 360_000 };

/** Whether a peer is still there. All times are ms on the monotonic clock. */
export class Liveness {
  private readonly settingsSentAt: number;
  private readonly betweenMs: number;
  private readonly isTarget: boolean;
  private hasAcknowledged = false;
  private heardAt: number;
  /** Whether a target has been silent since a stream was open. Clients may give up, one after the other, before a PING is due. */
  private owesReply = false;
  /** -1 unless a PING waits for a sign of life. */
  private pingedAt = -1;
  private nextPingAt = 0;

  /** `now` is when our SETTINGS are sent to the peer. */
  constructor(now: number, peer: keyof typeof BETWEEN_MS) {
    this.settingsSentAt = now;
    this.betweenMs = BETWEEN_MS[peer];
    this.isTarget = peer === 'target';
    this.heardAt = now;
  }

  settingsAcknowledged(): void {
    this.hasAcknowledged = true;
  }

  /** Whether our SETTINGS should have been acknowledged. */
  settingsOverdue(now: number): boolean {
    return !this.hasAcknowledged && now - this.settingsSentAt >= SETTINGS_MS;
  }

  /** Called periodically. `heard`: whether a frame has arrived since the last call; `busy`: whether a stream is open. */
  check(now: number, heard: boolean, busy: boolean): 'alive' | 'ping' | 'gone' {
    if (heard || (!busy && !this.owesReply)) {
      this.heardAt = now;
      this.pingedAt = -1;
      this.owesReply = false;
      return 'alive';
    }
    this.owesReply = this.isTarget;
    if (this.pingedAt >= 0) return now - this.pingedAt >= PING_MS ? 'gone' : 'alive';
    // gRPC servers allow hardly any PING while no stream is open.
    if (!busy || now - this.heardAt < SILENCE_MS || now < this.nextPingAt) return 'alive';
    this.pingedAt = now;
    this.nextPingAt = now + this.betweenMs;
    return 'ping';
  }
}
