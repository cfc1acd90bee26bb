import { setImmediate as nextTurn } from 'node:timers/promises';
import { Counter, Gauge, Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';
import { nodeMetricsFromFirstScrape } from '../../shared/runtime/node-metrics.ts';
import type { Counts } from './counts.ts';
import { type MetricsSnapshot, registerGauges } from './gauges.ts';
import { registerTraffic } from './traffic.ts';

/** The metrics in the Prometheus text format, version 0.0.4. */
export type Exposition = {
  /** `read` returns the values at the time of the scrape. */
  text(read: () => MetricsSnapshot | Promise<MetricsSnapshot>): Promise<string>;
  /** Names of all families in the order of the text, those of Node from the first text on. */
  families(): string[];
};

export function createExposition(counts: Counts, version: string): Exposition {
  const registry = new Registry();
  const histograms = registerTraffic(registry, counts.domains, counts.unrouted);
  const updates = registerGauges(registry);
  registerRestarts(registry, counts);
  registerFaults(registry, counts);
  registerReloads(registry, counts);
  registerBuild(registry, version);
  const nodeMetrics = nodeMetricsFromFirstScrape(registry);

  return {
    text: async (read) => {
      await nodeMetrics();
      const reading = await read();
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

function registerRestarts(registry: Registry, { restarts }: Counts): void {
  new Counter({
    name: `${METRIC_PREFIX}worker_restarts_total`,
    help: 'Traffic worker restarts by reason.',
    labelNames: ['reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of restarts) this.inc({ reason }, count);
    },
  });
}

function registerFaults(registry: Registry, { faults }: Counts): void {
  new Counter({
    name: `${METRIC_PREFIX}exchange_faults_total`,
    help: 'Errors of the proxy itself that were caught in a worker, by what they ended.',
    labelNames: ['ended'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [ended, count] of faults) this.inc({ ended }, count);
    },
  });
}

/** Both have no value before the first reload, and the second none before the first that succeeded. */
function registerReloads(registry: Registry, counts: Counts): void {
  const gauge = (name: string, help: string, value: () => number | null): void => {
    new Gauge({
      name: `${METRIC_PREFIX}${name}`,
      help,
      registers: [registry],
      collect() {
        const now = value();
        if (now === null) this.remove();
        else this.set(now);
      },
    });
  };
  gauge('config_last_reload_successful', 'Whether the last reload of the config file succeeded.', () =>
    counts.lastReload === null ? null : Number(counts.lastReload.ok),
  );
  gauge('config_last_reload_success_timestamp_seconds', 'When a reload of the config file last succeeded, in seconds since 1970.', () => {
    const succeededAt = counts.lastReload?.succeededAt ?? null;
    return succeededAt === null ? null : succeededAt / 1_000;
  });
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
