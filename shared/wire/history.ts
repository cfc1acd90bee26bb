import type { Percentiles, StatusCodes } from './analytics.ts';

/** Everything counted in a period. Durations in ms. */
export type HistoryCounts = {
  /** Requests; people and machines together are all of them. */
  views: number;
  humans: number;
  machines: { bot: number; monitor: number; prefetch: number; excluded: number; gpc: number };
  /** Pages that people looked at: without images, scripts and the like. */
  page_views: number;
  /** Different people. */
  visitors: number;
  bytes: number;
  status_codes: StatusCodes;
  latency: Percentiles;
  web_vitals: { lcp: VitalHistory; cls: VitalHistory; inp: VitalHistory };
};

export type VitalHistory = Percentiles & { count: number; good: number; needs_improvement: number; poor: number };

export type HistoryPoint = { at: string } & HistoryCounts;

export type HistoryList = { name: string; count: number }[];

/** One range: from `from` until before `to`, RFC 3339. */
export type HistoryRange = {
  from: string;
  to: string;
  totals: HistoryCounts;
  series: HistoryPoint[];
  lists: Record<string, HistoryList>;
};

/**
 * The response of `GET /analytics/{domain}/history`. `GET /history` is about all hosts: `domain` is null, and `hosts` has the
 * busiest.
 */
export type History = HistoryRange & {
  domain: string | null;
  /** `hour` or `day`: what each point of the series stands for. */
  step: 'hour' | 'day';
  /** People in the last five minutes. */
  now: number;
  hosts?: { domain: string; views: number; humans: number; page_views: number }[];
  /**
   * RFC 3339: the start of the kept history at this step. A `previous` that begins earlier can't be compared with. null if nothing is kept.
   */
  kept_since: string | null;
  /** The range to compare with: the period of the same length before, unless the query chooses another. */
  previous: HistoryRange;
};
