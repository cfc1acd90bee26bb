/** One object of `GET /analytics` per domain. Counts are cumulative since process start unless noted. */
export type AnalyticsSnapshot = {
  /** Host name in lower case, or a wildcard route's pattern for the hosts that were folded into it. */
  domain: string;
  /** Requests in the last minute. */
  page_views_1m: number;
  /** Requests in the last 60 minutes. */
  page_views_60m: number;
  unique_visitors: number;
  /** At most ten each, highest first, ties by name. */
  top_pages: { path: string; views: number }[];
  referrers: { domain: string; count: number }[];
  /** ISO 3166-1 alpha-2 codes. */
  countries: { country: string; count: number }[];
  status_codes: StatusCodes;
  /** Response heads and bodies as sent. */
  bytes_sent: number;
  web_vitals: { lcp: Percentiles; cls: Percentiles; inp: Percentiles };
  /** RFC 3339: when the snapshot was taken. */
  timestamp: string;
};

/** Responses by class; `other` counts clients that left before a response. */
export type StatusCodes = { s1xx: number; s2xx: number; s3xx: number; s4xx: number; s5xx: number; other: number };

/** Over all observations since process start; 0 without any. */
export type Percentiles = { p50: number; p75: number; p95: number; p99: number };
