import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { Alert } from '../../shared/wire/dashboard.ts';

/** How often problems are checked for (ms). */
const LOOK_MS = 10_000;
/** With very many routes less often: checks may take this share of the time. */
const SHARE = 0.01;

/**
 * Records when alerts began that do not know it themselves, such as those of pools and certificates. Problems found by the first check may
 * have begun at any time before.
 */
export class AlertTimes {
  private readonly alerts: () => Promise<readonly Alert[]>;
  private readonly clock: Clock;
  private readonly log: Pick<Log, 'error'>;
  /** By alert, ms since 1970; null if it is unknown. */
  private begun: ReadonlyMap<string, number | null> | null = null;

  /** @param alerts returns the current alerts. */
  constructor(alerts: () => Promise<readonly Alert[]>, { clock, log }: { readonly clock: Clock; readonly log: Pick<Log, 'error'> }) {
    this.alerts = alerts;
    this.clock = clock;
    this.log = log;
  }

  /** Looks now, and then again and again. */
  async watch(): Promise<void> {
    const begun = this.clock.monotonic();
    await this.check().catch((error: unknown) => this.log.error({ error: String(error) }, 'the alerts could not be determined'));
    const took = this.clock.monotonic() - begun;
    this.clock.after(Math.max(LOOK_MS, took / SHARE), () => void this.watch());
  }

  /** RFC 3339; null if it is unknown. */
  since(alert: Alert): string | null {
    const time = this.begun?.get(keyOf(alert)) ?? null;
    return alert.since ?? (time === null ? null : new Date(time).toISOString());
  }

  private async check(): Promise<void> {
    const alerts = await this.alerts();
    const before = this.begun;
    const now = before === null ? null : this.clock.now();
    this.begun = new Map(
      alerts.map((alert) => {
        const key = keyOf(alert);
        return [key, before?.has(key) ? (before.get(key) ?? null) : now];
      }),
    );
  }
}

/**
 * The identity of an alert, which stays the same while the numbers and reasons in its message change. Alerts without a domain are
 * distinguished by their message.
 */
const keyOf = ({ code, domain, subject, message }: Alert): string => `${code}\n${domain === null ? message : `${domain}\n${subject}`}`;
