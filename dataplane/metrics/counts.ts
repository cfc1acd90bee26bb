import type { FaultScope } from '../traffic/protocol.ts';
import type { Totals, TotalsByDomain } from './totals.ts';

/** Why a worker was restarted: it exited, or its event loop was blocked for too long. */
export const RESTART_REASONS = ['died', 'silent'] as const;
export type RestartReason = (typeof RESTART_REASONS)[number];

/** What is counted since the start, whether or not anything scrapes it. */
export type Counts = {
  readonly domains: TotalsByDomain;
  readonly unrouted: Totals;
  readonly restarts: Map<RestartReason, number>;
  readonly faults: Map<FaultScope, number>;
  /** Of the config file. null before the first: 0 would look like a failure. */
  lastReload: { readonly ok: boolean; readonly succeededAt: number | null } | null;
};
