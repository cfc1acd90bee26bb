import { USUAL_CIRCUIT_REQUESTS } from '../../../../shared/limits.ts';
import type { PassiveHealthSpec } from '../../../../shared/upstreams/pool-options.ts';
import { EJECTED_SECS, FAILURES_TO_EJECT } from '../../../ledger/targets.ts';
import type { Exchange, PassiveHealth } from '../../exchange/exchange.ts';

/** For pools that say nothing about it. */
const USUAL_PASSIVE_HEALTH: PassiveHealth = {
  fails: FAILURES_TO_EJECT,
  outSecs: EJECTED_SECS,
  failing: null,
  errorShare: 0,
  errorRequests: USUAL_CIRCUIT_REQUESTS,
};

export function passiveHealthOf(spec: PassiveHealthSpec | null | undefined): PassiveHealth {
  if (spec == null) return USUAL_PASSIVE_HEALTH;
  const { max_fails: fails, fail_secs: outSecs, statuses, error_percent: percent = 0, error_requests: errorRequests } = spec;
  // The circuit judges by what the target answers, too.
  const failing = statuses ?? (percent > 0 ? ['5xx'] : null);
  return {
    fails: fails ?? USUAL_PASSIVE_HEALTH.fails,
    outSecs: outSecs ?? USUAL_PASSIVE_HEALTH.outSecs,
    failing: failing && statusSet(failing),
    errorShare: percent / 100,
    errorRequests: errorRequests ?? USUAL_PASSIVE_HEALTH.errorRequests,
  };
}

/** Statuses such as 503, and classes such as 5xx. */
const statusSet = (words: readonly (string | number)[]): ReadonlySet<number> =>
  new Set(
    words
      .map(String)
      .flatMap((word) => (word.endsWith('xx') ? Array.from({ length: 100 }, (_, n) => Number(word[0]) * 100 + n) : [Number(word)])),
  );

/** What counts for an exchange: it comes from its site or block and is not a property of the target. */
export const passiveHealthFor = (x: Exchange): PassiveHealth => x.upstream?.passive ?? USUAL_PASSIVE_HEALTH;
