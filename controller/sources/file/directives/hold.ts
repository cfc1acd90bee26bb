import { MAX_HOLD_SECS } from '../../../../shared/limits.ts';
import { parseSeconds } from '../../../../shared/values/duration.ts';
import { oneArgument, type SiteDraft } from './rule.ts';

export const hold = oneArgument<SiteDraft>('hold', '<duration>', ['site', 'handle'], ({ text }, draft, refuse) => {
  const time = parseSeconds(text, MAX_HOLD_SECS);
  if (draft.members.hold_secs !== undefined) refuse('it means the same as lb_try_duration in the block of reverse_proxy; keep one of them');
  else if (time.ok) draft.members.hold_secs = time.value;
  else refuse(time.reason);
});
