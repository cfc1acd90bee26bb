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
  const counter = <Label extends string>(name: string, help: string, labelNames: Label[], count: (into: Counter<Label>) => void): void => {
    new Counter({
      name: `${METRIC_PREFIX}${name}`,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        count(this);
      },
    });
  };
  counter('requests_total', 'Requests answered, by route and status class.', ['domain', 'status'], (into) => {
    for (const [domain, totals] of domains.entries()) eachClass(totals, (status, count) => into.inc({ domain, status }, count));
  });
  counter('unrouted_requests_total', 'Requests for hosts without a route, and rejected requests, by status class.', ['status'], (into) => {
    eachClass(unrouted, (status, count) => into.inc({ status }, count));
  });
  counter('response_bytes_total', 'Bytes sent to clients, headers and bodies, by route.', ['domain'], (into) => {
    for (const [domain, totals] of domains.entries()) into.inc({ domain }, totals.bytes);
  });
  counter(
    'upstream_failures_total',
    'Requests that failed because no upstream responded, or its response broke off, by route and reason.',
    ['domain', 'reason'],
    (into) => {
      for (const [domain, totals] of domains.entries()) for (const [reason, count] of totals.failures) into.inc({ domain, reason }, count);
    },
  );
  counter('cache_requests_total', 'Requests that the cache handled, by route and result.', ['domain', 'result'], (into) => {
    for (const [domain, totals] of domains.entries()) for (const [result, count] of totals.cache) into.inc({ domain, result }, count);
  });
  counter('cache_sent_bytes_total', 'Bytes of bodies that were sent from the cache, by route.', ['domain'], (into) => {
    for (const [domain, totals] of domains.entries()) if (totals.cache.size > 0) into.inc({ domain }, totals.cacheBytes);
  });
  counter(
    'mirrored_requests_total',
    'Requests that mirrors should have got copies of, by route and what became of the copy.',
    ['domain', 'result'],
    (into) => {
      for (const [domain, totals] of domains.entries()) for (const [result, count] of totals.mirrored) into.inc({ domain, result }, count);
    },
  );
  counter(
    'passed_connections_total',
    'TLS connections that were to be passed through to a target, by route and what became of them.',
    ['domain', 'result'],
    (into) => {
      for (const [domain, totals] of domains.entries()) for (const [result, count] of totals.passed) into.inc({ domain, result }, count);
    },
  );
  counter(
    'passed_bytes_total',
    'Bytes of TLS connections that were passed through, by route and direction: `in` is from clients.',
    ['domain', 'direction'],
    (into) => {
      for (const [domain, { passed, passedReceived, passedSent }] of domains.entries()) {
        if (passed.size === 0) continue;
        into.inc({ domain, direction: 'in' }, passedReceived);
        into.inc({ domain, direction: 'out' }, passedSent);
      }
    },
  );
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
