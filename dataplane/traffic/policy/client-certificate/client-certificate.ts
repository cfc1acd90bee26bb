import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { compileClientAuth } from './client-auth.ts';

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
  const auth = compileClientAuth(route);
  if (auth === null) return [];
  const { rule } = auth;
  const policy: Policy = {
    name: 'client_auth',
    decide: (x) => (x.clientRule === rule ? null : REFUSED),
    explain: (x) =>
      x.clientRule === rule
        ? passes('the handshake requires a client certificate')
        : answers('403: a client certificate can be sent over HTTPS only'),
  };
  return [policy];
};
