import { createAnalytics } from '../../../dataplane/analytics/analytics.ts';
import { domainReport } from '../../../dataplane/traffic/testing/samples/domain-report.ts';
import { systemClock } from '../../../shared/runtime/clock.ts';

/** Prints the resident memory (bytes) of this process after that many domains have had 10,000 visitors each. */
const VISITORS = 10_000;

const domains = Number(process.argv[2]);
const analytics = createAnalytics({ clock: systemClock });
const pages = Array.from({ length: 20 }, (_, at) => [`/articles/${at}/title-of-the-page`, at + 1] as const);
const referrers = Array.from({ length: 20 }, (_, at) => [`site-${at}.example`, at + 1] as const);
const countries = ['DE', 'FR', 'GB', 'NL', 'US'].map((country) => [country, 1] as const);
for (let at = 0; at < domains; at++) {
  const visitors = Array.from({ length: VISITORS }, () => Math.floor(Math.random() * 2 ** 53));
  analytics.record({ domains: [domainReport(`site-${at}.example`, { visitors, pages, referrers, countries })] });
}
globalThis.gc?.();
process.stdout.write(`${process.memoryUsage.rss()}`);
