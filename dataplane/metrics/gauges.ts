import { Counter, Gauge, type Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';
import { type CertificateStats, registerCertificates } from './certificates.ts';

/** Maximum number of individually listed targets; those out of rotation come first. */
export const MAX_UPSTREAMS = 1_000;

/** Values at the time of a scrape. */
export type MetricsSnapshot = {
  readonly routes: number;
  /** Controllers' routes that are overridden by manually posted ones. */
  readonly overridden: number;
  /** Number of running workers. */
  readonly workers: number;
  readonly inFlight: number;
  readonly connections: ConnectionStats;
  readonly upstreams: Iterable<UpstreamHealth>;
  readonly certificates: CertificateStats;
  /** Lines of the access log that were not written, since the start. */
  readonly accessLogLost: number;
};
/** Client connections: how many are open, and how many were refused since the start, by reason. */
export type ConnectionStats = { readonly open: number; readonly refused: Iterable<readonly [reason: string, count: number]> };
export type UpstreamHealth = { readonly address: string; readonly healthy: boolean };

/** Registers values that are read at each scrape instead of counted. @returns a function that updates them. */
export function registerGauges(registry: Registry): (reading: MetricsSnapshot) => void {
  const gauge = (name: string, help: string) => new Gauge({ name: `${METRIC_PREFIX}${name}`, help, registers: [registry] });
  const routes = gauge('routes', 'Active routes.');
  const overridden = gauge('routes_overridden', "Controllers' routes that a manually posted route overrides.");
  const workers = gauge('workers', 'Running traffic workers.');
  const inFlight = gauge('requests_in_flight', 'Requests in flight.');
  const connections = gauge('connections_open', 'Open client connections.');
  const refused = new Counter({
    name: `${METRIC_PREFIX}connections_refused_total`,
    help: 'Client connections that were closed before a request was read, by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  const accessLogLost = new Counter({
    name: `${METRIC_PREFIX}access_log_lines_lost_total`,
    help: 'Lines of the access log that were lost because an output was too slow or failed.',
    registers: [registry],
  });
  const healthy = new Gauge({
    name: `${METRIC_PREFIX}upstream_healthy`,
    help: `Whether a target is in rotation; at most ${MAX_UPSTREAMS} targets, those out of rotation first.`,
    labelNames: ['address'],
    registers: [registry],
  });
  const showCertificates = registerCertificates(registry);
  return (reading) => {
    showCertificates(reading.certificates);
    routes.set(reading.routes);
    overridden.set(reading.overridden);
    workers.set(reading.workers);
    inFlight.set(reading.inFlight);
    connections.set(reading.connections.open);
    refused.reset();
    for (const [reason, count] of reading.connections.refused) refused.inc({ reason }, count);
    accessLogLost.reset();
    accessLogLost.inc(reading.accessLogLost);
    healthy.reset();
    for (const upstream of unhealthyFirst(reading.upstreams)) healthy.set({ address: upstream.address }, upstream.healthy ? 1 : 0);
  };
}

/** Up to the maximum, with targets out of rotation first so that none of them is cut off by healthy ones. */
function unhealthyFirst(upstreams: Iterable<UpstreamHealth>): UpstreamHealth[] {
  const out: UpstreamHealth[] = [];
  const inRotation: UpstreamHealth[] = [];
  for (const upstream of upstreams) {
    const list = upstream.healthy ? inRotation : out;
    if (list.length < MAX_UPSTREAMS) list.push(upstream);
  }
  return [...out, ...inRotation].slice(0, MAX_UPSTREAMS);
}
