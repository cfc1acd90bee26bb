import { Counter, type Registry } from 'prom-client';
import { METRIC_PREFIX } from '../../shared/name.ts';
import { DURATION_BOUNDS } from '../traffic/protocol.ts';
import { CountedHistogram } from './counted-histogram.ts';
import { STATUS_CLASSES, type Totals, type TotalsByDomain } from './totals.ts';

/**
 * Registers the metrics fed by the workers' reports. Each scrape rebuilds them from the totals. @returns those that are not in the
 * registry.
 */
export function registerTraffic(registry: Registry, domains: TotalsByDomain, unrouted: Totals): CountedHistogram[] {
  new Counter({
    name: `${METRIC_PREFIX}requests_total`,
    help: 'Requests answered, by route and status class.',
    labelNames: ['domain', 'status'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) eachClass(totals, (status, count) => this.inc({ domain, status }, count));
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}unrouted_requests_total`,
    help: 'Requests for hosts without a route, and rejected requests, by status class.',
    labelNames: ['status'],
    registers: [registry],
    collect() {
      this.reset();
      eachClass(unrouted, (status, count) => this.inc({ status }, count));
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}response_bytes_total`,
    help: 'Bytes sent to clients, headers and bodies, by route.',
    labelNames: ['domain'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) this.inc({ domain }, totals.bytes);
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}upstream_failures_total`,
    help: 'Requests that failed because no upstream responded, or its response broke off, by route and reason.',
    labelNames: ['domain', 'reason'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) for (const [reason, count] of totals.failures) this.inc({ domain, reason }, count);
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}cache_requests_total`,
    help: 'Requests that the cache handled, by route and result.',
    labelNames: ['domain', 'result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) for (const [result, count] of totals.cache) this.inc({ domain, result }, count);
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}cache_sent_bytes_total`,
    help: 'Bytes of bodies that were sent from the cache, by route.',
    labelNames: ['domain'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) if (totals.cache.size > 0) this.inc({ domain }, totals.cacheBytes);
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}mirrored_requests_total`,
    help: 'Requests that mirrors should have got copies of, by route and what became of the copy.',
    labelNames: ['domain', 'result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) for (const [result, count] of totals.mirrored) this.inc({ domain, result }, count);
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}passed_connections_total`,
    help: 'TLS connections that were to be passed through to a target, by route and what became of them.',
    labelNames: ['domain', 'result'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, totals] of domains.entries()) for (const [result, count] of totals.passed) this.inc({ domain, result }, count);
    },
  });
  new Counter({
    name: `${METRIC_PREFIX}passed_bytes_total`,
    help: 'Bytes of TLS connections that were passed through, by route and direction: `in` is from clients.',
    labelNames: ['domain', 'direction'],
    registers: [registry],
    collect() {
      this.reset();
      for (const [domain, { passed, passedReceived, passedSent }] of domains.entries()) {
        if (passed.size === 0) continue;
        this.inc({ domain, direction: 'in' }, passedReceived);
        this.inc({ domain, direction: 'out' }, passedSent);
      }
    },
  });
  const durations = new CountedHistogram({
    name: `${METRIC_PREFIX}request_duration_seconds`,
    help: 'Time from the request header section to the end of the response, by route.',
    bounds: DURATION_BOUNDS,
    read: () => domains.entries(),
  });
  return [durations];
}

/** Skips status classes without requests, so that a thousand routes don't produce thousands of zeros. */
function eachClass(totals: Totals, report: (status: string, count: number) => void): void {
  for (const [index, status] of STATUS_CLASSES.entries()) {
    const count = totals.classes[index] ?? 0;
    if (count > 0) report(status, count);
  }
}
