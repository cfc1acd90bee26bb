import type { Overview } from '../../../../../shared/wire/dashboard.ts';
import type { History } from '../../../../../shared/wire/history.ts';

/** The history lists this many hosts; with more, nothing is known of the others. */
const LISTED = 1_000;

/** Figures of a host; null if they are not known. `wrong`: its worst alert. */
export type HostRow = {
  readonly domain: string;
  readonly pageViews: number | null;
  readonly requests: number | null;
  readonly minute: number | null;
  readonly hour: number | null;
  readonly wrong: string | null;
};

/** The busiest hosts of the period, and those that are busy now. */
export function hostRowsOf({ hosts, host_count, alerts }: Pick<Overview, 'hosts' | 'host_count' | 'alerts'>, history: Hosts): HostRow[] {
  const live = new Map(hosts.map((host) => [host.domain, host]));
  const seen = new Map(history.map((host) => [host.domain, host]));
  const wrong = new Map(alerts.filter(({ severity }) => severity !== 'advice').map(({ domain, message }) => [domain, message]));
  const unseen = seen.size < LISTED ? 0 : null;
  // Of more hosts than these, only the busiest are known.
  const quiet = host_count > hosts.length ? null : 0;
  return [...new Set([...seen.keys(), ...live.keys()])].map((domain) => ({
    domain,
    pageViews: seen.get(domain)?.page_views ?? unseen,
    requests: seen.get(domain)?.views ?? unseen,
    minute: live.get(domain)?.page_views_1m ?? quiet,
    hour: live.get(domain)?.page_views_60m ?? quiet,
    wrong: wrong.get(domain) ?? null,
  }));
}

type Hosts = NonNullable<History['hosts']>;
