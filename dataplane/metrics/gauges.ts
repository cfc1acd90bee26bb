import { Counter, Gauge, type Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';
import { type CacheDiskReading, registerCacheDisk } from './cache-disk.ts';
import { type CertificateStats, registerCertificates } from './certificates.ts';
import { type ControllersReading, registerControllers } from './controllers.ts';
import { registerTargets, type TargetsReading } from './targets.ts';

/** Values at the time of a scrape. */
export type MetricsSnapshot = ControllersReading & {
  /** As `GET /ready`. */
  readonly ready: boolean;
  readonly routes: number;
  /** Controllers' routes that are overridden by manually posted ones. */
  readonly overridden: number;
  readonly workers: WorkersReading;
  readonly inFlight: number;
  readonly connections: ConnectionStats;
  readonly targets: TargetsReading;
  readonly certificates: CertificateStats;
  /** Lines of the access log that were not written, since the start. */
  readonly accessLogLost: number;
  /** Spans that were not delivered, since the start. */
  readonly spansLost: number;
  /** Whether the history of visits can be read and saved; null if none is kept. */
  readonly historyAvailable: boolean | null;
  /** null if there is no cache. */
  readonly cache: CacheReading | null;
  /** null if no responses are kept on disk. */
  readonly cacheDisk: CacheDiskReading | null;
};
/** The content of the cache in bytes and responses, and how many responses had no room since the start; and the same by route. */
export type CacheReading = {
  readonly size: number;
  readonly used: number;
  readonly entries: number;
  readonly evicted: number;
  readonly routes: Iterable<
    readonly [domain: string, share: { readonly bytes: number; readonly entries: number; readonly evicted: number }]
  >;
};
/**
 * `busySeconds`: how long each worker's event loop has been busy since the worker started. The slot of a worker that ended is used again.
 */
export type WorkersReading = {
  readonly serving: number;
  readonly configured: number;
  readonly busySeconds: Iterable<readonly [slot: number, seconds: number]>;
};
/** Client connections: how many are open and may be open, and how many were refused since the start, by reason. */
export type ConnectionStats = {
  readonly open: number;
  readonly most: number;
  readonly refused: Iterable<readonly [reason: string, count: number]>;
};

/**
 * Registers values that are read at each scrape instead of counted. @returns functions that update them; each makes its
 * own metrics complete, so others may be served between two of them.
 */
export function registerGauges(registry: Registry): ((reading: MetricsSnapshot) => void)[] {
  const showProcess = registerProcess(registry);
  const showWorkers = registerWorkers(registry);
  const showConnections = registerConnections(registry);
  const showTargets = registerTargets(registry);
  const showCertificates = registerCertificates(registry);
  const showControllers = registerControllers(registry);
  const showCache = registerCache(registry);
  const showCacheRoutes = registerCacheRoutes(registry);
  const showCacheDisk = registerCacheDisk(registry);
  return [
    showProcess,
    ({ workers }) => showWorkers(workers),
    ({ connections }) => showConnections(connections),
    ({ targets }) => showTargets(targets),
    ({ certificates }) => showCertificates(certificates),
    showControllers,
    ({ cache }) => showCache(cache),
    ({ cache }) => showCacheRoutes(cache?.routes ?? []),
    ({ cacheDisk }) => showCacheDisk(cacheDisk),
  ];
}

/** The caller limits the number of routes. */
function registerCacheRoutes(registry: Registry): (routes: CacheReading['routes']) => void {
  const options = { labelNames: ['domain'], registers: [registry] };
  const bytes = new Gauge({
    ...options,
    name: `${METRIC_PREFIX}cache_route_bytes`,
    help: `Bytes of memory that the stored responses of a route take; together they are ${METRIC_PREFIX}cache_bytes.`,
  });
  const entries = new Gauge({ ...options, name: `${METRIC_PREFIX}cache_route_entries`, help: 'Stored responses of a route.' });
  const evicted = new Counter({
    ...options,
    name: `${METRIC_PREFIX}cache_route_evictions_total`,
    help: 'Responses of a route that left the cache, or did not enter it, because others are used more often.',
  });
  return (routes) => {
    for (const metric of [bytes, entries, evicted]) metric.reset();
    for (const [domain, share] of routes) {
      bytes.set({ domain }, share.bytes);
      entries.set({ domain }, share.entries);
      evicted.inc({ domain }, share.evicted);
    }
  };
}

function registerCache(registry: Registry): (cache: MetricsSnapshot['cache']) => void {
  const bytes = gauge(registry, 'cache_bytes', 'Bytes of memory that stored responses take, with an estimate of their administration.');
  const limit = gauge(registry, 'cache_max_bytes', 'The size of the cache; 0 without one.');
  const entries = gauge(registry, 'cache_entries', 'Stored responses.');
  const evicted = new Counter({
    name: `${METRIC_PREFIX}cache_evictions_total`,
    help: 'Responses that left the cache, or did not enter it, because others are used more often.',
    registers: [registry],
  });
  return (cache) => {
    bytes.set(cache?.used ?? 0);
    limit.set(cache?.size ?? 0);
    entries.set(cache?.entries ?? 0);
    evicted.reset();
    evicted.inc(cache?.evicted ?? 0);
  };
}

const gauge = (registry: Registry, name: string, help: string) =>
  new Gauge({ name: `${METRIC_PREFIX}${name}`, help, registers: [registry] });

function registerProcess(registry: Registry): (reading: MetricsSnapshot) => void {
  const ready = gauge(registry, 'ready', 'Whether a known good configuration is served, as GET /ready reports.');
  const routes = gauge(registry, 'routes', 'Active routes.');
  const overridden = gauge(registry, 'routes_overridden', "Controllers' routes that a manually posted route overrides.");
  const inFlight = gauge(registry, 'requests_in_flight', 'Requests in flight.');
  const accessLogLost = new Counter({
    name: `${METRIC_PREFIX}access_log_lines_lost_total`,
    help: 'Lines of the access log that were lost because an output was too slow or failed.',
    registers: [registry],
  });
  const spansLost = new Counter({
    name: `${METRIC_PREFIX}spans_lost_total`,
    help: 'Spans of traced requests that were lost because the collector was too slow or failed.',
    registers: [registry],
  });
  const history = gauge(registry, 'history_available', 'Whether the history of visits can be read and saved; absent if none is kept.');
  history.remove();
  return (reading) => {
    if (reading.historyAvailable !== null) history.set(reading.historyAvailable ? 1 : 0);
    ready.set(reading.ready ? 1 : 0);
    routes.set(reading.routes);
    overridden.set(reading.overridden);
    inFlight.set(reading.inFlight);
    accessLogLost.reset();
    accessLogLost.inc(reading.accessLogLost);
    spansLost.reset();
    spansLost.inc(reading.spansLost);
  };
}

function registerWorkers(registry: Registry): (reading: WorkersReading) => void {
  const serving = gauge(registry, 'workers', 'Running traffic workers.');
  const configured = gauge(registry, 'workers_configured', 'Traffic workers that should be running.');
  const busy = new Counter({
    name: `${METRIC_PREFIX}worker_busy_seconds_total`,
    help: 'Time that the event loop of a traffic worker was busy. Its rate is the utilization of the worker, at most 1.',
    labelNames: ['worker'],
    registers: [registry],
  });
  return (reading) => {
    serving.set(reading.serving);
    configured.set(reading.configured);
    busy.reset();
    for (const [slot, seconds] of reading.busySeconds) busy.inc({ worker: slot }, seconds);
  };
}

function registerConnections(registry: Registry): (reading: ConnectionStats) => void {
  const open = gauge(registry, 'connections_open', 'Open client connections.');
  const most = gauge(registry, 'connections_max', 'Maximum number of open client connections.');
  const refused = new Counter({
    name: `${METRIC_PREFIX}connections_refused_total`,
    help: 'Client connections that were closed before a request was read, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  return (reading) => {
    open.set(reading.open);
    most.set(reading.most);
    refused.reset();
    for (const [reason, count] of reading.refused) refused.inc({ reason }, count);
  };
}
