import type { Alert, HostNow, Overview } from '../../../../../shared/wire/dashboard.ts';
import type { History } from '../../../../../shared/wire/history.ts';

/** The history lists this many hosts; with more, nothing is known of the others. */
const LISTED = 1_000;

/** Figures of a host; null if they are not known. `wrong`: its worst alert, or that of its wildcard; empty if there is none. */
export type HostRow = {
  readonly domain: string;
  readonly pageViews: number | null;
  readonly requests: number | null;
  readonly minute: number | null;
  readonly hour: number | null;
  readonly wrong: string | null;
};

type Now = Pick<Overview, 'hosts' | 'host_count' | 'alerts' | 'alert_count'>;

/** The busiest hosts of the period, and those that are busy now. `history`: null while nothing is known of the period. */
export function hostRowsOf(overview: Now, history: Hosts | null): HostRow[] {
  const { hosts, host_count } = overview;
  const live = new Map(hosts.map((host) => [host.domain, host]));
  const seen = new Map(history?.map((host) => [host.domain, host]));
  const worst = worstAlerts(overview);
  const unseen = history !== null && seen.size < LISTED ? 0 : null;
  // Of more hosts than these, only the busiest are known.
  const quiet = host_count > hosts.length ? null : 0;
  return [...new Set([...seen.keys(), ...live.keys()])].map((domain) => ({
    domain,
    pageViews: seen.get(domain)?.page_views ?? unseen,
    requests: seen.get(domain)?.views ?? unseen,
    minute: live.get(domain)?.page_views_1m ?? quiet,
    hour: live.get(domain)?.page_views_60m ?? quiet,
    wrong: worst(domain, live.get(domain)),
  }));
}

/** Finds the worst alert of a host; empty if there is none, null if that is not known. */
function worstAlerts({ alerts, alert_count }: Now): (domain: string, live: HostNow | undefined) => string | null {
  const worst = new Map<string | null, Alert>();
  for (const alert of alerts) if (alert.severity !== 'advice' && !worst.has(alert.domain)) worst.set(alert.domain, alert);
  // Only the worst are listed, so if advice is, everything else is.
  const others = alert_count > alerts.length && alerts.at(-1)?.severity !== 'advice' ? null : '';
  return (domain, live) => {
    const own = worst.get(domain);
    if (own !== undefined) return own.message;
    if (live !== undefined) {
      const shared = worst.get(live.pattern ?? domain);
      // It is about some hosts of the wildcard.
      return shared?.code === 'server_errors' ? null : (shared?.message ?? others);
    }
    // It may have a route of its own.
    return worst.has(domain.replace(/^[^.]*/, '*')) || worst.has('*') ? null : others;
  };
}

type Hosts = NonNullable<History['hosts']>;
