import type { OwnAnswer } from '../../exchange/own-answer.ts';
import { answers, type Policy, type PolicyKind, passes } from '../policy.ts';
import { compileClientAuth } from './client-auth.ts';

const REFUSED: OwnAnswer = {
  status: 403,
  fields: 'Content-Type: text/plain; charset=utf-8\r\n',
  body: 'This site asks for a client certificate, which can be shown over HTTPS only.\n',
  reason: 'the site asks for a client certificate, and the connection kept no such rule',
};

/**
 * The last word on whoever has not kept the site's rule in a handshake of ours: visitors without TLS, and those of
 * whom a proxy says that they came over HTTPS, since nobody here has seen what they showed there.
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
        ? passes('the handshake asks for a client certificate')
        : answers('403: a client certificate can be shown over HTTPS only'),
  };
  return [policy];
};
