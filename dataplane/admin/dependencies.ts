import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { RequestUrl } from '../../shared/values/request-url.ts';
import type { AnalyticsSnapshot } from '../../shared/wire/analytics.ts';
import type { TargetReport } from '../../shared/wire/apply.ts';
import type { Alert, Overview } from '../../shared/wire/dashboard.ts';
import type { Purge } from '../../shared/wire/purge.ts';
import type { DataplaneStatus, Explanation, SettingStatus, UpstreamStatus } from '../../shared/wire/status.ts';
import type { History } from '../analytics/history/history.ts';
import type { Connected } from '../status/overview.ts';
import type { LiveTable } from '../table/live-table.ts';
import type { CertificateAdmin } from '../tls/certificate-admin.ts';
import type { EventFeed } from './events/event-feed.ts';

/** The dependencies of the Admin API, provided by the data plane's main thread. */
export type AdminDependencies = {
  readonly table: LiveTable;
  readonly clock: Clock;
  readonly log: Log;
  readonly token: string | undefined;
  /** A second token, which only reads. */
  readonly viewToken: string | undefined;
  readonly events: EventFeed;
  readonly analytics: {
    snapshots(): Promise<Iterable<AnalyticsSnapshot>>;
    snapshot(host: string): Promise<AnalyticsSnapshot | undefined>;
    forget(host: string): boolean;
  };
  /** null if none is kept. */
  readonly history: Pick<History, 'answer' | 'forget'> | null;
  /** null if metrics are disabled. */
  readonly metrics: { text(isConnected: (controller: string) => boolean): Promise<string> } | null;
  readonly uptimeSecs: () => number;
  readonly ready: () => { readonly ready: boolean; readonly reason: string | null };
  readonly settings: () => SettingStatus[];
  readonly upstreams: () => UpstreamStatus[];
  /** The latest results of health checks, for a controller that has just connected. */
  readonly targetReports: () => readonly TargetReport[];
  readonly certificates: Pick<CertificateAdmin, 'list' | 'push' | 'remove' | 'retry'>;
  /** The internal authority's root certificate as PEM; null if no internal authority was ever created. */
  readonly internalRoot: () => string | null;
  /** Whether the challenge of a site has begun by itself. */
  readonly isAttacked: (domain: string) => boolean;
  readonly explain: (url: RequestUrl) => Promise<Explanation>;
  readonly status: () => Omit<DataplaneStatus, 'controllers' | 'last_reload'>;
  readonly overview: (connected: Connected) => Promise<Overview>;
  readonly alerts: (connected: Connected) => Promise<Alert[]>;
  /** Removes entries of the cache. `saved`: their files, too. @returns null if there is no cache. @throws UnacknowledgedError after 5 s. */
  readonly purge: (purge: Purge) => Promise<{ readonly count: number; readonly saved: boolean } | null>;
  readonly reloaded: (ok: boolean) => void;
  /** The current addresses of this machine's or container's network interfaces. */
  readonly addresses: () => string[];
};
