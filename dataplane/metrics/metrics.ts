import type { Clock } from '../../shared/runtime/clock.ts';
import { loadedOnce } from '../../shared/runtime/loaded-once.ts';
import { FAULT_SCOPES, type TrafficReport, UNROUTED } from '../traffic/protocol.ts';
import { type Counts, RESTART_REASONS, type RestartReason } from './counts.ts';
import type { MetricsSnapshot } from './gauges.ts';
import { addReport, emptyTotals, TotalsByDomain } from './totals.ts';

export interface Metrics {
  record(report: TrafficReport): void;
  countWorkerRestart(reason: RestartReason): void;
  /** Records the result of a reload of the config file. */
  reloadOutcome(ok: boolean): void;
  /** The Prometheus text format, version 0.0.4. `isConnected`: whether this controller has an open apply stream. */
  text(isConnected: (controller: string) => boolean): Promise<string>;
  /** Names of all families in the order of the text, those of Node from the first text on. */
  families(): Promise<string[]>;
}

/** `read` is called once per scrape. */
type MetricsOptions = {
  readonly clock: Clock;
  readonly version: string;
  readonly read: (isConnected: (controller: string) => boolean) => MetricsSnapshot | Promise<MetricsSnapshot>;
};

export function createMetrics({ clock, version, read }: MetricsOptions): Metrics {
  const counts: Counts = {
    domains: new TotalsByDomain(),
    unrouted: emptyTotals(),
    restarts: new Map(RESTART_REASONS.map((reason) => [reason, 0])),
    faults: new Map(FAULT_SCOPES.map((scope) => [scope, 0])),
    lastReload: null,
  };
  // The library is loaded for the first scrape, which many installations never have.
  const exposition = loadedOnce(async () => (await import('./exposition.ts')).createExposition(counts, version));
  return {
    record: (report) => {
      for (const domain of report.domains) {
        if (domain.pattern === UNROUTED) addReport(counts.unrouted, domain);
        else counts.domains.record(domain);
      }
      for (const [ended, count] of report.faults ?? []) counts.faults.set(ended, (counts.faults.get(ended) ?? 0) + count);
    },
    countWorkerRestart: (reason) => void counts.restarts.set(reason, (counts.restarts.get(reason) ?? 0) + 1),
    reloadOutcome: (ok) => {
      counts.lastReload = { ok, succeededAt: ok ? clock.now() : (counts.lastReload?.succeededAt ?? null) };
    },
    text: async (isConnected) => (await exposition()).text(() => read(isConnected)),
    families: async () => (await exposition()).families(),
  };
}
