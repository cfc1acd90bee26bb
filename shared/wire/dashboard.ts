import type { DataplaneStatus } from './status.ts';

/** What `GET /events?view=dashboard` sends every two seconds, as the server-sent event `overview`. */
export type Overview = {
  /** RFC 3339. */
  at: string;
  /** As in `GET /status`, but `problems`, `warnings`, `advice` and the errors of the last reload are empty, because they are alerts. */
  status: DataplaneStatus;
  /** Worst first, at most two hundred of `alert_count`. */
  alerts: Alert[];
  alert_count: number;
  traffic: Traffic;
  /** The hundred busiest of the last hour of `host_count`, busiest first. */
  hosts: HostNow[];
  host_count: number;
  upstreams: { count: number; healthy: number };
  /** `expiring`: certificates that will expire without being renewed. */
  certificates: { count: number; failed: number; expiring: number };
  /** null without a cache. */
  cache: (CacheUse & { max_bytes: number; bytes: number; entries: number }) | null;
};

/** Of the last hour: requests of sites with a cache, and those of them that were answered with a stored response. */
export type CacheUse = { requests_60m: number; hits_60m: number };

/** Over the last ten seconds. `errors_per_sec` counts 5xx responses. */
export type Traffic = { requests_per_sec: number; bytes_per_sec: number; errors_per_sec: number; open_requests?: number };

/** `requests` and `errors` (5xx responses) are since the start, the rest as in `GET /analytics`. */
export type HostNow = {
  domain: string;
  /** The wildcard that serves it; absent if it has a route of its own. */
  pattern?: string;
  page_views_1m: number;
  page_views_60m: number;
  unique_visitors: number;
  requests: number;
  errors: number;
  /** Absent if the cache has handled no request. */
  cache?: CacheUse;
};

/** From worst to least: something does not work, something will not work or is degraded, something could be better. */
export type Severity = 'error' | 'warning' | 'advice';

/** A current problem, and what to do about it. */
export type Alert = {
  severity: Severity;
  /** Stable. */
  code: string;
  /** The affected domain; null if it is not about one. */
  domain: string | null;
  /** Where: a container, a line of a file, a pool, a controller, a worker. */
  subject: string;
  /** What is wrong, one sentence. */
  message: string;
  /** What to do, one sentence. */
  action: string;
  /** RFC 3339: when it began; null if that is not known. */
  since: string | null;
};
