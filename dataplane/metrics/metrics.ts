import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Gauge, Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import { nodeMetricsFromFirstScrape } from '../../shared/runtime/node-metrics.ts';
import { FAULT_SCOPES, type TrafficReport, UNROUTED } from '../traffic/protocol.ts';
import { type MetricsSnapshot, registerGauges } from './gauges.ts';
import { addReport, emptyTotals, TotalsByDomain } from './totals.ts';
import { registerTraffic } from './traffic.ts';

/** Why a worker was restarted: it exited, or its event loop was blocked for too long. */
export const RESTART_REASONS = ['died', 'silent'] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

export interface Metrics {
  record(report: TrafficReport): void;
  countWorkerRestart(reason: RestartReason): void;
  /** Records the result of a reload of the config file. */
  reloadOutcome(ok: boolean): void;
  /** The Prometheus text format, version 0.0.4. `isConnected`: whether this controller has an open apply stream. */
  text(isConnected: (controller: string) => boolean): Promise<string>;
  /** Names of all families in the order of the text, those of Node from the first text on. */
  families(): string[];
}

/** `read` is called once per scrape. */
type MetricsOptions = {
  readonly clock: Clock;
  readonly version: string;
  readonly read: (isConnected: (controller: string) => boolean) => MetricsSnapshot | Promise<MetricsSnapshot>;
};

export function createMetrics({ clock, version, read }: MetricsOptions): Metrics {
  const registry = new Registry();
  const domains = new TotalsByDomain();
  const unrouted = emptyTotals();
  const histograms = registerTraffic(registry, domains, unrouted);
  const updates = registerGauges(registry);
  const restarts = registerRestarts(registry);
  const faults = registerFaults(registry);
  const reloadOutcome = registerReloads(registry, clock);
  registerBuild(registry, version);
  const nodeMetrics = nodeMetricsFromFirstScrape(registry);

  return {
    record: (report) => {
      for (const domain of report.domains) {
        if (domain.pattern === UNROUTED) addReport(unrouted, domain);
        else domains.record(domain);
      }
      for (const [ended, count] of report.faults ?? []) faults.inc({ ended }, count);
    },
    countWorkerRestart: (reason) => restarts.inc({ reason }),
    reloadOutcome,
    text: async (isConnected) => {
      await nodeMetrics();
      const reading = await read(isConnected);
      // A family can have thousands of lines, and all families in one turn would stop the main thread for too long.
      for (const update of updates) {
        update(reading);
        await nextTurn();
      }
      const families: string[] = [];
      for (const histogram of histograms) families.push(await histogram.text());
      for (const { name } of registry.getMetricsAsArray()) {
        families.push(await registry.getSingleMetricAsString(name));
        await nextTurn();
      }
      return `${families.join('\n\n')}\n`;
    },
    families: () => [...histograms, ...registry.getMetricsAsArray()].map(({ name }) => name),
  };
}

function registerRestarts(registry: Registry): Counter<'reason'> {
  const restarts = new Counter({
    name: `${METRIC_PREFIX}worker_restarts_total`,
    help: 'Traffic worker restarts by reason.',
    labelNames: ['reason'],
    registers: [registry],
  });
  for (const reason of RESTART_REASONS) restarts.inc({ reason }, 0);
  return restarts;
}

function registerFaults(registry: Registry): Counter<'ended'> {
  const faults = new Counter({
    name: `${METRIC_PREFIX}exchange_faults_total`,
    help: 'Errors of the proxy itself that were caught in a worker, by what they ended.',
    labelNames: ['ended'],
    registers: [registry],
  });
  for (const ended of FAULT_SCOPES) faults.inc({ ended }, 0);
  return faults;
}

/** Both have no value before the first reload: 0 would look like a failure. */
function registerReloads(registry: Registry, clock: Clock): (ok: boolean) => void {
  const successful = new Gauge({
    name: `${METRIC_PREFIX}config_last_reload_successful`,
    help: 'Whether the last reload of the config file succeeded.',
    registers: [registry],
  });
  const succeededAt = new Gauge({
    name: `${METRIC_PREFIX}config_last_reload_success_timestamp_seconds`,
    help: 'When a reload of the config file last succeeded, in seconds since 1970.',
    registers: [registry],
  });
  successful.remove();
  succeededAt.remove();
  return (ok) => {
    successful.set(ok ? 1 : 0);
    if (ok) succeededAt.set(clock.now() / 1_000);
  };
}

function registerBuild(registry: Registry, version: string): void {
  const build = new Gauge({
    name: `${METRIC_PREFIX}build_info`,
    help: 'Always 1; the labels identify the build.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version, node: process.version }, 1);
}
