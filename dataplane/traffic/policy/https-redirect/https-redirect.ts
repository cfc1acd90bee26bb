import { issuerOf } from '../../../../shared/certificates/issuer.ts';
import { CATCH_ALL } from '../../../../shared/values/host.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, type PolicyTools } from '../policy.ts';

/**
 * Sends visitors who came without TLS to the same page over HTTPS (308: the method stays) for as long as certificates
 * are seen to, also while the first one is still on its way, and where somebody brought one. A site that says `off`, or
 * that can have no certificate, stays on HTTP.
 */
export const httpsRedirect: PolicyKind = (route) => {
  if (route.https === 'off') return [];
  const { domain, https } = route;
  // Of a certificate for every host nobody knows which hosts it is good for.
  const provided = https === 'provided' && domain !== CATCH_ALL;
  // Which authorities and certificates there are may change while the site does not.
  const active = (tools: PolicyTools): boolean =>
    provided || issuerOf({ domain, https }, tools.https) !== null || (domain !== CATCH_ALL && tools.isBrought(domain));
  let judgedBy: PolicyTools['https'] | null = null;
  let judgement = false;
  const applies = (x: Exchange, tools: PolicyTools): boolean => {
    if (x.secure) return false;
    if (judgedBy !== tools.https) {
      judgedBy = tools.https;
      judgement = active(tools);
    }
    return judgement;
  };
  const policy: Policy = {
    name: 'https',
    decide: (x, tools) => (applies(x, tools) ? redirection(x, tools.https.publicPort) : null),
    explain: (x, tools) => (applies(x, tools) ? answers(`308 to ${location(x, tools.https.publicPort)}`) : null),
  };
  return [policy];
};

const redirection = (x: Exchange, port: number): OwnAnswer => ({
  status: 308,
  fields: `Location: ${location(x, port)}\r\n`,
  body: '',
  reason: 'sent on to HTTPS',
});

/** `*` is the target of OPTIONS for the server as a whole: there is no page to go to. */
const location = (x: Exchange, port: number): string =>
  `https://${x.host}${port === 443 ? '' : `:${port}`}${x.target === '*' ? '/' : x.target}`;
