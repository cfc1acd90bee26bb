import type { Grammar } from '../../../../shared/config-file/directive.ts';
import { BLOCK_POLICIES, type PolicyMembers, SITE_POLICIES } from '../../../../shared/policy/policies.ts';
import { handle, handlePath } from './handle.ts';
import { healthUri } from './health.ts';
import { hold } from './hold.ts';
import { httpsRedirect } from './https-redirect.ts';
import { lbPolicy } from './lb-policy.ts';
import { pathCase } from './path-case.ts';
import { reverseProxy } from './reverse-proxy.ts';
import { type BlockKind, type Rule, type Rules, rulesByName, type SiteDraft } from './rule.ts';
import { split, splitBy } from './split.ts';
import { tls } from './tls.ts';
import { transport } from './transport.ts';

const ruleOf = (directive: Grammar<PolicyMembers>, scopes: readonly BlockKind[]): Rule<SiteDraft> => ({
  ...directive,
  scopes,
  read: (line, draft, context, condition) => directive.read(line, draft.members, context, condition),
});

const policies = SITE_POLICIES.flatMap((policy) =>
  policy.directive ? [ruleOf(policy.directive, BLOCK_POLICIES.includes(policy) ? ['site', 'handle'] : ['site'])] : [],
);

/** All directives of a site. */
export const SITE_RULES: Rules<SiteDraft> = rulesByName([
  reverseProxy,
  lbPolicy,
  healthUri,
  hold,
  ...policies,
  handle,
  handlePath,
  split,
  splitBy,
  pathCase,
  httpsRedirect,
  tls,
  transport,
]);
