import { DEFAULT_RETRY_AFTER_SECS } from '../../../../shared/policy/maintenance/directive.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { compileCondition } from '../../match/condition.ts';
import { foldsPaths } from '../../match/pattern.ts';
import { answers, type PolicyKind, passes } from '../policy.ts';

const HTML = 'Content-Type: text/html; charset=utf-8\r\n';

/** `maintenance`: the block's own, or the site's if the block has none. */
export const maintenance: PolicyKind = (route, handle) => {
  const spec = handle?.maintenance ?? route.maintenance;
  if (spec?.on !== true) return [];
  const { retry_after_secs: seconds = DEFAULT_RETRY_AFTER_SECS, page, match } = spec;
  const own: OwnAnswer = {
    status: 503,
    fields: `Retry-After: ${seconds}\r\n${page === undefined ? '' : HTML}`,
    body: page === undefined ? null : Buffer.from(page),
    reason: 'the site is under maintenance',
  };
  const applies = match === undefined ? null : compileCondition(match, foldsPaths(route));
  return [
    {
      name: 'maintenance',
      decide: (x) => (applies === null || applies(x.path, x) ? own : null),
      explain: (x) =>
        applies === null || applies(x.path, x)
          ? answers(`503, to be tried again after ${seconds} seconds`)
          : passes(`${match?.name ?? 'its condition'} does not match`),
    },
  ];
};
