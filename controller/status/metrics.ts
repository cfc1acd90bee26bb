import { Counter, Gauge, Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';
import { nodeMetricsFromFirstScrape } from '../../shared/runtime/node-metrics.ts';
import type { Report } from './report.ts';

const PREFIX = `${METRIC_PREFIX}controller_`;

export type ControllerMetrics = {
  /** Without those of Node before the first text. */
  readonly registry: Registry;
  /** The Prometheus text format, version 0.0.4. */
  text(): Promise<string>;
};

/** The controller's metrics, read from its report when they are requested. */
export function createControllerMetrics(report: Report): ControllerMetrics {
  const registry = new Registry();
  const registers = [registry];
  const nodeMetrics = nodeMetricsFromFirstScrape(registry);
  const gauge = (name: string, help: string, labelNames: string[], fill: (gauge: Gauge) => void) =>
    new Gauge({
      name: `${PREFIX}${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        fill(this);
      },
    });
  new Counter({
    name: `${PREFIX}pushes_total`,
    help: 'Frames sent to a data plane, by outcome: applied, refused, failed (the stream broke).',
    labelNames: ['dataplane', 'outcome'],
    registers,
    collect() {
      this.reset();
      for (const { address, outcomes } of report.dataplanes())
        for (const [outcome, count] of Object.entries(outcomes)) this.inc({ dataplane: address, outcome }, count);
    },
  });
  gauge('revision', 'The last revision that a data plane acknowledged.', ['dataplane'], (one) => {
    for (const { address, revision } of report.dataplanes()) one.set({ dataplane: address }, Number(revision ?? 0));
  });
  gauge('connected', '1 while the apply stream to a data plane is connected.', ['dataplane'], (one) => {
    for (const { address, connected } of report.dataplanes()) one.set({ dataplane: address }, connected ? 1 : 0);
  });
  gauge('routes', 'Routes in the latest table.', [], (one) => one.set(report.counts().routes));
  gauge('ready', '1 while every source has been listed and every data plane has acknowledged the routes.', [], (one) =>
    one.set(report.readiness().ready ? 1 : 0),
  );
  gauge('conditions', 'Objects by condition and whether it holds; programmed: by every data plane.', ['condition', 'holds'], (one) => {
    for (const [condition, { holding, failing }] of Object.entries(report.objects.counts())) {
      one.set({ condition, holds: 'true' }, holding);
      one.set({ condition, holds: 'false' }, failing);
    }
  });
  gauge('problems', 'Objects and settings of a source that cannot be used as written.', ['source'], (one) => {
    for (const { source } of report.problems()) one.inc({ source });
  });
  gauge('last_reload_successful', '1 if the latest version of the config file was valid.', [], (one) => {
    const { lastReloadOk } = report.counts();
    if (lastReloadOk !== null) one.set(lastReloadOk ? 1 : 0);
  });
  gauge('last_reload_success_timestamp_seconds', 'When the config file was last valid, in seconds since 1970.', [], (one) => {
    const { lastGoodReload } = report.counts();
    if (lastGoodReload !== null) one.set(lastGoodReload / 1_000);
  });
  return { registry, text: () => nodeMetrics().then(() => registry.metrics()) };
}
