import { MAX_RETRIES } from '../../../../shared/limits.ts';

/**
 * Options of pools that let requests outlast rollouts. Many pods may stop listening at once, in a rollout or when an app is scaled down,
 * before the cluster says that they are terminating; with a single replica, that means all of them. A request then tries the others, and
 * waits for a moment if none accepts a connection. Annotations take precedence.
 */
export const ROLLOUT_OPTIONS = { lb_retries: MAX_RETRIES, hold_secs: 3 } as const;
