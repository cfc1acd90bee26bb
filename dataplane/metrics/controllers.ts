import { Gauge, type Registry } from 'prom-client';
import { OVERFLOW_LABEL } from '../../shared/domain-labels.ts';
import { METRIC_PREFIX } from '../../shared/name.ts';

/** Maximum number of individually listed controllers. */
export const MAX_CONTROLLERS = 100;
/** Maximum number of listed pairs of source and code; further problems count as `other`. */
export const MAX_PROBLEM_KINDS = 100;

export type ControllerReading = {
  readonly id: string;
  /** Whether its apply stream is open. */
  readonly connected: boolean;
  /** Visible routes that it applied. */
  readonly routes: number;
  /** Milliseconds since 1970. */
  readonly lastApplied: number;
};
export type ControllersReading = {
  readonly controllers: Iterable<ControllerReading>;
  readonly problems: Iterable<{ readonly source: string; readonly code: string }>;
};

/** Registers the metrics of controllers and of their reports. @returns a function that updates them. */
export function registerControllers(registry: Registry): (reading: ControllersReading) => void {
  const gauge = (name: string, help: string) =>
    new Gauge({ name: `${METRIC_PREFIX}apply_stream_${name}`, help, labelNames: ['controller'], registers: [registry] });
  const connected = gauge(
    'connected',
    `Whether the apply stream of a controller is open; at most ${MAX_CONTROLLERS} that are connected or have routes.`,
  );
  const routes = gauge('routes', 'Active routes that a controller applied, of the same controllers.');
  const lastApplied = gauge(
    'last_frame_timestamp_seconds',
    'When the last frame of a controller was applied, in seconds since 1970, of the same controllers.',
  );
  const problems = new Gauge({
    name: `${METRIC_PREFIX}problems`,
    help: 'Objects and settings that cannot be used as written, as reported by controllers, by source and kind.',
    labelNames: ['source', 'code'],
    registers: [registry],
  });
  return (reading) => {
    for (const metric of [connected, routes, lastApplied, problems]) metric.reset();
    // A controller without routes that is not connected has probably been removed.
    const current = [...reading.controllers].filter((one) => one.connected || one.routes > 0);
    for (const one of current.slice(0, MAX_CONTROLLERS)) {
      const labels = { controller: one.id };
      connected.set(labels, one.connected ? 1 : 0);
      routes.set(labels, one.routes);
      lastApplied.set(labels, one.lastApplied / 1_000);
    }
    const kinds = new Set<string>();
    for (const { source, code } of reading.problems) {
      const kind = `${source}\n${code}`;
      if (kinds.size < MAX_PROBLEM_KINDS) kinds.add(kind);
      problems.inc(kinds.has(kind) ? { source, code } : { source: OVERFLOW_LABEL, code: OVERFLOW_LABEL });
    }
  };
}
