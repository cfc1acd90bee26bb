import { issuerOf } from '../../../../shared/certificates/issuer.ts';
import { CATCH_ALL } from '../../../../shared/values/host.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, type PolicyTools } from '../policy.ts';

/**
 * Redirects requests without TLS to the same URL over HTTPS (308 keeps the method) if certificates are managed
 * automatically, even while the first one is still being ordered, or if one was provided. A site with `off`, or
 * one that cannot get a certificate, stays on HTTP.
 */
export const httpsRedirect: PolicyKind = (route) => {
  if (route.https === 'off') return [];
  const { domain, https } = route;
  // For the catch-all route it is unknown which hosts a certificate would cover.
  const provided = https === 'provided' && domain !== CATCH_ALL;
  // Not compiled into the route: authorities and certificates may change while the site does not.
  const active = (tools: PolicyTools): boolean =>
    provided || issuerOf({ domain, https }, tools.https) !== null || (domain !== CATCH_ALL && tools.isProvided(domain));
  let cachedFor: PolicyTools['https'] | null = null;
  let cached = false;
  const applies = (x: Exchange, tools: PolicyTools): boolean => {
    if (x.secure) return false;
    if (cachedFor !== tools.https) {
      cachedFor = tools.https;
      cached = active(tools);
    }
    return cached;
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
  reason: 'redirected to HTTPS',
});

/** `*` is the target of OPTIONS for the server as a whole and has no URL of its own. */
const location = (x: Exchange, port: number): string =>
  `https://${x.host}${port === 443 ? '' : `:${port}`}${x.target === '*' ? '/' : x.target}`;
