import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { runningBuild } from '../shared/runtime/process/build.ts';
import type { ServiceEvent } from '../shared/wire/events.ts';
import type { Purge } from '../shared/wire/purge.ts';
import { AccessLog } from './access-log/access-log.ts';
import { createAnalytics } from './analytics/analytics.ts';
import { openCountryDatabase } from './analytics/country-database.ts';
import { History } from './analytics/history/history.ts';
import { TrafficRate } from './analytics/traffic-rate.ts';
import type { BootState, Runtime } from './boot.ts';
import { isBotAddress, systemDns } from './bots/bot-names.ts';
import { VerifiedBots } from './bots/verified-bots.ts';
import { CacheIndex } from './cache/cache-index.ts';
import { DiskTier } from './cache/disk/disk-tier.ts';
import { removeFiles } from './cache/disk/purges/remove-files.ts';
import { Health } from './health/health.ts';
import { fetchKeys } from './key-sets/fetch-keys.ts';
import { KeySetFetcher } from './key-sets/key-set-fetcher.ts';
import { createLedger } from './ledger/ledger.ts';
import { withListenReason } from './listen-error.ts';
import { createMetrics, type Metrics } from './metrics/metrics.ts';
import { StatePublisher } from './publish/publisher.ts';
import { LiveSettings } from './settings/live-settings.ts';
import { watchPassthrough } from './settings/passthrough-port.ts';
import { closedWarning, httpsPorts, listenedPorts, ownUseOf } from './settings/ports.ts';
import { type DataplaneSettings, trafficSettings, WHY_NO_ACME } from './settings/settings.ts';
import { ownAddresses } from './status/own-addresses.ts';
import { Readiness } from './status/readiness.ts';
import { Upstreams } from './status/upstreams.ts';
import { LiveTable } from './table/live-table.ts';
import type { CertificateKeeper } from './table/table.ts';
import { LostTargets } from './table/unconfirmed/lost-targets.ts';
import { initialRoutes } from './table/unconfirmed/published-routes.ts';
import { LazyCertificateManager } from './tls/lazy-certificate-manager.ts';
import { TraceExport, type TraceExportOptions } from './tracing/trace-export.ts';
import { probePort } from './workers/probe-port.ts';
import { WorkerPool } from './workers/worker-pool.ts';

const HISTORY_FILE = 'analytics.db';
const KEYS_FILE = 'token-keys.json';
const HOURS_MS = 35 * 86_400_000;

export type Components = ReturnType<typeof createComponents>;

/** Wires everything on the main thread except the Admin API. Nothing runs yet. */
export function createComponents(
  { base, atBoot, keyring, restored, takeover }: BootState,
  { clock, random, log }: Runtime,
  emit: (event: ServiceEvent) => void,
) {
  const { settings } = atBoot;
  const publisher = new StatePublisher(initialRoutes(restored), trafficSettings(settings));
  const certificates: CertificateKeeper = { store: (frame) => https.apply(frame), remove: (frame) => https.removeApplied(frame) };
  const table = new LiveTable({ restored, publisher, clock, random, certificates });
  const lost = new LostTargets({ table, clock, log, staying: restored.staying });
  const readiness = new Readiness(table, restored, () => ({
    open: listenedPorts(trafficSettings(live.settings)).length,
    closed: live.settings.closedPorts.map(closedWarning),
  }));
  const ledger = createLedger(WorkerPool.slots(settings.workers));
  const health = new Health({
    ...{ clock, random, log, targets: ledger.targets },
    changed: ({ tls: _, ...change }) => {
      if (change.healthy) workers.broadcastVerdicts();
      emit({ kind: 'upstream', ...change });
    },
  });
  const keySets = new KeySetFetcher({
    ...{ clock, log, fetch: fetchKeys, path: join(base.stateDir, KEYS_FILE) },
    publish: (sets) =>
      void publisher
        .publish({ keySets: sets })
        .catch((error: unknown) => log.error({ error: String(error) }, 'not every worker has the keys of tokens yet')),
  });
  const bots = new VerifiedBots({
    ...{ clock, random, lookUp: (claim) => isBotAddress(claim, systemDns()) },
    reply: (verdict, worker) => workers.send({ kind: 'bot', verdict }, worker),
  });
  const accessLog = new AccessLog(ledger.buffers.accessLines, { clock, log });
  const traceExport = new TraceExport(ledger.buffers.spans, exportOptions(settings), { clock, log });
  const upstreams = new Upstreams({ table, targets: ledger.targets, health, clock });
  const analytics = createAnalytics({ clock });
  const traffic = new TrafficRate(clock);
  const history = openHistory(settings, base.stateDir, { clock, log });
  const cacheFiles = openCacheFiles(settings, base.stateDir, {
    ...{ clock, log, shared: takeover !== null },
    noted: (purge) => void cache.purge(purge),
  });
  const cache: CacheIndex = new CacheIndex(settings.cacheSize, {
    disk: cacheFiles,
    reply: (worker, message) => workers.send({ kind: 'cache', message }, worker),
    broadcast: (message) => workers.send({ kind: 'cache', message }, null),
  });
  const metrics: Metrics = createMetrics({
    clock,
    version: runningBuild.version,
    read: async (isConnected) => ({
      ...table.counts(),
      ready: readiness.now().ready,
      workers: { serving: workers.serving, configured: settings.workers, busySeconds: workers.busySeconds() },
      inFlight: ledger.inFlight.total(),
      connections: { ...ledger.connections.reading(), most: live.settings.maxConnections },
      targets: await upstreams.load(),
      certificates: https.stats(),
      controllers: table.controllerLoads(isConnected),
      problems: table.problems(),
      accessLogLost: accessLog.lost,
      spansLost: traceExport.lost,
      cache: cache.enabled ? cache.status : null,
      cacheDisk: cacheFiles?.status ?? null,
      historyAvailable: history && history.failure === null,
    }),
  });
  const workers = new WorkerPool({
    ...{
      count: settings.workers,
      socketDir: base.stateDir,
      ledger,
      hashKey: keyring.visitors,
      countries: openCountryDatabase(log),
      clock,
      log,
    },
    state: () => publisher.currentState(),
    onReport: (report) => {
      analytics.record(report);
      traffic.record(report);
      history?.add(report.domains);
      metrics.record(report);
      upstreams.record(report);
    },
    onTarget: (change) => {
      const { tls: _, forOneClient: __, ...report } = change;
      if (upstreams.changed(change)) emit({ kind: 'upstream', ...report });
    },
    onLost: (target) => lost.lost(target),
    onAwaited: (name) => https.prioritize(name),
    onBotClaimed: (worker, claim) => bots.claimed(worker, claim),
    onKeyWanted: (name) => keySets.wanted(name),
    onAccessLog: () => accessLog.start(),
    onCache: (worker, message) => cache.handle(worker, message),
    onChange: (worker, state, reason) => {
      if (state === 'died' || state === 'replaced') metrics.countWorkerRestart(state === 'died' ? 'died' : 'silent');
      emit({ kind: 'worker', worker, state, reason });
    },
  });
  const live: LiveSettings = new LiveSettings(base, atBoot, {
    publisher,
    log,
    globals: base.parentGlobals ?? restored.globals,
    probePort: async (bind, port, shared) => {
      const use = ownUseOf({ ...live.settings, bind }, port);
      if (use !== null) throw new Error(use);
      await withListenReason(port, () => probePort(bind, port, shared));
    },
    listenersMoved: () => {
      const { unmoved } = workers;
      return unmoved === null ? Promise.resolve() : withListenReason(unmoved.port, () => Promise.reject(unmoved));
    },
  });
  const openHttps = async (): Promise<void> => {
    await publisher
      .publish({ settings: trafficSettings(live.settings) })
      .catch((error: unknown) => log.error({ error: String(error) }, 'not every worker has opened the HTTPS port'));
  };
  publisher.onRoutes(watchPassthrough({ stateDir: base.stateDir, log, open: openHttps }));
  const https = new LazyCertificateManager({
    ...{ clock, random, log, keyring, publisher, certDir: settings.certDir, stateDir: base.stateDir },
    sites: () => table.sites(),
    site: (domain) => table.site(domain),
    reachable: () => requireHttpsPort(live.settings),
    noAcme: base.noAcme ? WHY_NO_ACME : null,
    addresses: () => ownAddresses(networkInterfaces()),
    httpPort: () => live.settings.httpPort,
    opened: openHttps,
  });
  const wired = {
    publisher,
    table,
    readiness,
    ledger,
    health,
    upstreams,
    analytics,
    traffic,
    history,
    metrics,
    workers,
    live,
    https,
    lost,
  };
  return { ...wired, cache, cacheFiles, keySets, accessLog, traceExport };
}

/** null if requests are not traced. */
function exportOptions({ otlpEndpoint, otlpHeaders, otlpServiceName }: DataplaneSettings): TraceExportOptions | null {
  if (otlpEndpoint === null) return null;
  return { url: otlpEndpoint, headers: otlpHeaders, serviceName: otlpServiceName, version: runningBuild.version };
}

/** null if nothing is kept on disk. */
function openCacheFiles(
  { cacheSize, cacheDiskSize, drainTimeoutMs: drainMs }: DataplaneSettings,
  stateDir: string,
  { shared, ...tools }: Pick<Runtime, 'clock' | 'log'> & { readonly shared: boolean; readonly noted: (purge: Purge) => void },
): DiskTier | null {
  if (cacheDiskSize > 0) return new DiskTier({ stateDir, size: cacheDiskSize, shared, drainMs }, cacheSize, tools);
  void removeFiles(stateDir, tools.clock.now(), tools.log);
  return null;
}

/** Days are kept as set, hours for 35 days of it. */
function openHistory({ analyticsRetention, analyticsMaxSize }: DataplaneSettings, stateDir: string, tools: Pick<Runtime, 'clock' | 'log'>) {
  if (analyticsRetention === 'off') return null;
  const retention = { hoursMs: Math.min(HOURS_MS, analyticsRetention), daysMs: analyticsRetention, maxBytes: analyticsMaxSize };
  return new History({ path: join(stateDir, HISTORY_FILE), retention }, tools);
}

/** @throws if the HTTPS port is closed and can't be opened. */
async function requireHttpsPort(settings: DataplaneSettings): Promise<void> {
  const { bind } = settings;
  if (trafficSettings(settings).httpsPort !== null) return;
  for (const port of httpsPorts(settings))
    await withListenReason(port, () => probePort(bind, port)).catch((error: Error) => {
      throw new Error(`can't listen on ${port}: ${error.message}; name another with --https-port`);
    });
}
