import { MAX_HOLD_SECS } from '../../../../shared/limits.ts';
import { parseDuration } from '../../../../shared/values/duration.ts';
import { oneArgument, type SiteDraft } from './rule.ts';

export const hold = oneArgument<SiteDraft>('hold', '<duration>', ['site', 'handle'], ({ text }, draft, refuse) => {
  const time = parseDuration(text);
  if (!time.ok) refuse(time.reason);
  else if (time.value % 1_000 !== 0 || time.value > MAX_HOLD_SECS * 1_000) refuse(`whole seconds, ${MAX_HOLD_SECS}s at most`);
  else draft.said.hold_secs = time.value / 1_000;
});
