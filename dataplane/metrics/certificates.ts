import { Counter, Gauge, type Registry } from 'prom-client';
import { MAX_DOMAIN_LABELS, OVERFLOW_LABEL } from '../../shared/domain-labels.ts';
import { METRIC_PREFIX } from '../../shared/name.ts';

/** Certificates at the time of a scrape. */
export type CertificateStats = {
  /** The served certificate of each name: its expiry (ms since 1970) and source. */
  readonly served: Iterable<{ readonly name: string; readonly notAfter: number; readonly source: string }>;
  /** Number of orders since the start, by result. */
  readonly orders: Iterable<readonly [result: string, count: number]>;
  /** Names whose last order failed: those without a certificate, and those that still have one. */
  readonly failing: { readonly missing: number; readonly renewal: number };
  /** Served certificates that expire soon and have no successor. */
  readonly expiring: number;
};

/** Registers the metrics of certificates. @returns a function that updates them. */
export function registerCertificates(registry: Registry): (reading: CertificateStats) => void {
  const bySource = new Gauge({
    name: `${METRIC_PREFIX}certificates`,
    help: 'Names with a certificate, by its source.',
    labelNames: ['source'],
    registers: [registry],
  });
  const notAfter = new Gauge({
    name: `${METRIC_PREFIX}certificate_not_after_timestamp_seconds`,
    help: `When the certificate of a name expires, in seconds since 1970; the ${MAX_DOMAIN_LABELS} that expire first, and the earliest of all others.`,
    labelNames: ['domain'],
    registers: [registry],
  });
  const orders = new Counter({
    name: `${METRIC_PREFIX}certificate_orders_total`,
    help: 'Certificate orders by result.',
    labelNames: ['result'],
    registers: [registry],
  });
  const failing = new Gauge({
    name: `${METRIC_PREFIX}certificates_failing`,
    help: 'Names whose last certificate order failed: missing (they have no certificate) or renewal (they still have one).',
    labelNames: ['kind'],
    registers: [registry],
  });
  const expiring = new Gauge({
    name: `${METRIC_PREFIX}certificates_expiring`,
    help: 'Names of sites whose certificate expires soon and has no successor.',
    registers: [registry],
  });
  return (reading) => {
    expiring.set(reading.expiring);
    failing.set({ kind: 'missing' }, reading.failing.missing);
    failing.set({ kind: 'renewal' }, reading.failing.renewal);
    const served = [...reading.served].sort((one, other) => one.notAfter - other.notAfter);
    bySource.reset();
    for (const { source } of served) bySource.inc({ source });
    notAfter.reset();
    for (const { name, notAfter: end } of served.slice(0, MAX_DOMAIN_LABELS)) notAfter.set({ domain: name }, end / 1_000);
    const rest = served[MAX_DOMAIN_LABELS];
    if (rest !== undefined) notAfter.set({ domain: OVERFLOW_LABEL }, rest.notAfter / 1_000);
    orders.reset();
    for (const [result, count] of reading.orders) orders.inc({ result }, count);
  };
}
