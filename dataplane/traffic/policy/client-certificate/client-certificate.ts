import type { Exchange } from '../../exchange/exchange.ts';
import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { localAddressOf } from '../../match/place.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { clientAuthAt, compileClientAuth } from './client-auth.ts';

const REFUSED: OwnAnswer = {
  status: 403,
  fields: 'Content-Type: text/plain; charset=utf-8\r\n',
  body: 'This site requires a client certificate, which can be sent over HTTPS only.\n',
  reason: 'the site requires a client certificate, and the connection was made without that rule',
};

/**
 * Refuses requests that have not satisfied the site's rule in our own TLS handshake: those without TLS, and those
 * that came over HTTPS only according to a proxy, since we have not seen their certificate.
 */
export const clientCertificate: PolicyKind = (route) => {
  const all = compileClientAuth(route);
  if (all.length === 0) return [];
  const ruleFor = (x: Exchange): string | null => clientAuthAt(all, x.port, () => localAddressOf(x))?.rule ?? null;
  const policy: Policy = {
    name: 'client_auth',
    decide(x) {
      const rule = ruleFor(x);
      return rule === null || x.clientRule === rule ? null : REFUSED;
    },
    explain(x) {
      if (x.clientRule === null) return ruleFor(x) === null ? null : answers('403: a client certificate can be sent over HTTPS only');
      return x.clientRule === '' ? null : passes('the handshake requires a client certificate');
    },
  };
  return [policy];
};
