import type { OwnAnswer } from '../../exchange/own-answer.ts';

/** The errors of RFC 6750 3.1. */
type BearerError = 'invalid_request' | 'invalid_token' | 'insufficient_scope';

/** A response that asks for a token (RFC 6750 3). `error` is null if the request has none. */
export const challengeFor = (realm: string, status: number, error: BearerError | null, reason: string): OwnAnswer => ({
  status,
  fields: `WWW-Authenticate: Bearer realm="${realm}"${error === null ? '' : `, error="${error}"`}\r\n`,
  body: null,
  reason,
});
