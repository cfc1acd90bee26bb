import type { Clock } from '../shared/runtime/clock.ts';
import type { Log } from '../shared/runtime/log/log.ts';
import { installedVersion, runningBuild } from '../shared/runtime/process/build.ts';
import type { AdminDependencies } from './admin/dependencies.ts';
import type { OwnCertificate } from './admin/own-certificate.ts';
import type { FailingHost } from './analytics/analytics.ts';
import type { Components } from './components.ts';
import { exposedDirectories, type SensitiveDirectory } from './settings/exposed-directories.ts';
import { httpPorts, httpsPorts } from './settings/ports.ts';
import { type DataplaneSettings, usesHttps } from './settings/settings.ts';
import { AlertTimes } from './status/alert-times.ts';
import { FileRoots } from './status/file-roots.ts';
import { alertsNow, type OverviewParts } from './status/overview.ts';
import { WatchedSites } from './status/watched-sites.ts';
import type { LiveTable } from './table/live-table.ts';
import { tcpMigrationAdvice } from './workers/tcp-migration.ts';

type Context = {
  readonly clock: Clock;
  readonly log: Log;
  readonly settings: DataplaneSettings;
  readonly certificate: OwnCertificate | null;
  readonly uptimeSecs: () => number;
};

/** The state of every part of the data plane, for the dashboard, the alerts and the status. */
export function overviewParts(components: Components, { clock, log, settings, certificate, uptimeSecs }: Context): OverviewParts {
  const {
    table,
    readiness,
    upstreams,
    analytics,
    traffic,
    history,
    workers,
    live,
    https,
    accessLog,
    traceExport,
    ledger,
    publisher,
    keySets,
    cache,
    cacheFiles,
  } = components;
  const watched = new WatchedSites(table);
  const fileRoots = new FileRoots(table, clock);
  const parts: OverviewParts = {
    clock,
    status: () => ({
      instance: table.instance,
      version: runningBuild.version,
      installed_version: installedVersion(process.env),
      ...readiness.now(),
      uptime_secs: uptimeSecs(),
      generation: publisher.generation,
      ...table.counts(),
      workers: { configured: settings.workers, serving: workers.serving, restarts: workers.restarts },
      problems: [...table.problems()],
    }),
    warnings: () => ({
      targets_unconfirmed: readiness.warnings(),
      settings: live.warnings,
      table_unsaved: table.saved.warnings,
      cache_off: watched.cacheWarnings(live.settings.cacheSize),
      cache_disk: cacheFiles?.warnings ?? [],
      ports_closed: watched.portWarnings([...httpPorts(live.settings), ...httpsPorts(live.settings)]),
      file_root: fileRoots.warnings(),
      exposed_directory: exposedDirectories(sensitiveDirectories(settings)),
      access_log: accessLog.warnings,
      traces: traceExport.warnings,
      token_keys_stale: keySets.failures('stale'),
      token_keys_missing: keySets.failures('missing'),
      admin_certificate: certificate?.warnings ?? [],
    }),
    advice: tcpMigrationAdvice,
    upstreams: () => upstreams.survey(),
    failing: () => failingSites(analytics.failing(), table),
    certificates: https,
    overrides: () => table.overrides(),
    refused: () => table.refusedRoutes(),
    history: () => history?.failure ?? null,
    traffic: () => ({ ...traffic.read(), open_requests: ledger.inFlight.total() }),
    cache: () => {
      if (!cache.enabled) return null;
      const { size, used, entries } = cache.status;
      return { ...traffic.cacheUse(), max_bytes: size, bytes: used, entries };
    },
    since: (alert) => times.since(alert),
    hosts: (limit) => analytics.busiest(limit),
  };
  // Alerts that depend on connections know themselves when they began.
  const times = new AlertTimes(() => alertsNow(parts, { controllers: [], last_reload: null }), { clock, log });
  void times.watch();
  return parts;
}

/** Without those that are no longer routed, and those in maintenance, whose visitors get 503 on purpose. */
function* failingSites(hosts: Iterable<FailingHost | null>, table: LiveTable): Generator<FailingHost | null> {
  for (const host of hosts) {
    const route = host === null ? undefined : table.find(host.pattern)?.route;
    yield route === undefined || route.maintenance?.on === true ? null : host;
  }
}

/** The response to `GET /status`, without the parts that the Admin API adds. */
export function statusOf(
  { status, warnings, advice }: OverviewParts,
  { upstreams, https }: Components,
): ReturnType<AdminDependencies['status']> {
  return {
    ...status(),
    upstreams: upstreams.summary(),
    warnings: [...Object.values(warnings()).flat(), ...https.warnings],
    advice: [...advice()],
  };
}

/** The directories that hold secrets and the table. */
export const sensitiveDirectories = (settings: DataplaneSettings): SensitiveDirectory[] => [
  { what: 'the state directory', path: settings.stateDir },
  ...(usesHttps(settings) ? [{ what: 'the certificate directory', path: settings.certDir }] : []),
];
