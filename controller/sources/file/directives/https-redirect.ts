import { oneArgument, type SiteDraft } from './rule.ts';

export const httpsRedirect = oneArgument<SiteDraft>('https_redirect', 'off|on', ['site'], ({ text }, draft, refuse) => {
  if (text === 'on' || text === 'off') draft.members.https_redirect = text === 'on';
  else refuse('it is on or off');
});
