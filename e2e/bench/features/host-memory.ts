import { createAnalytics } from '../../../dataplane/analytics/analytics.ts';
import { domainReport } from '../../../dataplane/traffic/testing/samples/domain-report.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';

/** Prints the memory of the counts of one host (bytes): a small one, or one with as many and as long names as possible. */
const HOSTS = 300;
const KINDS = {
  small: { visitors: 50, names: 20, pageLength: 30, referrerLength: 20, vitals: 0 },
  busy: { visitors: 10_000, names: 200, pageLength: 256, referrerLength: 128, vitals: 2_000 },
} as const;

const { visitors, names, pageLength, referrerLength, vitals } = KINDS[process.argv[2] as keyof typeof KINDS];
const analytics = createAnalytics({ clock: systemClock });
/** As it arrives from a worker: a flat string, not a rope, that no other host shares. */
const name = (begin: string, length: number): string => structuredClone(begin.padEnd(length, 'x'));
const named = (host: number, length: number) =>
  Array.from({ length: names }, (_, nth) => [name(`/${host}/${nth}/`, length), nth + 1] as const);
const used = (): number => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const before = used();
for (let host = 0; host < HOSTS; host++) {
  const report = {
    visitors: Array.from({ length: visitors }, () => Math.floor(Math.random() * 2 ** 53)),
    pages: named(host, pageLength),
    referrers: named(host, referrerLength),
    countries: Array.from({ length: names }, (_, nth) => [name(`${nth}`, 2), 1] as const),
    vitals: Array.from({ length: vitals }, () => ({ lcp: Math.random() * 5_000, cls: Math.random(), inp: Math.random() * 500 })),
  };
  analytics.record({ domains: [domainReport(`site-${host}.example`, report)] });
}
await analytics.aggregate();
process.stdout.write(`${(used() - before) / HOSTS}`);
