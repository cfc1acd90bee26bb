import { oneArgument, type SiteDraft } from './rule.ts';

export const pathCase = oneArgument<SiteDraft>('path_case', 'insensitive|sensitive', ['site'], ({ text }, draft, refuse) => {
  if (text === 'insensitive' || text === 'sensitive') draft.members.path_case = text;
  else refuse('it is insensitive or sensitive');
});
