import { codeOf } from '../../../../shared/runtime/error-code.ts';
import { AccountGoneError, IssueError } from '../issue-error.ts';
import { ProblemError } from './problem.ts';

/** System and TLS error codes that mean the authority is unreachable or not trusted. */
const UNREACHABLE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved at the moment',
  ETIMEDOUT: 'it does not answer',
  ERR_CANCELED: 'it does not answer in time',
  ECONNRESET: 'it closed the connection',
  EHOSTUNREACH: 'there is no route to it',
  ENETUNREACH: 'there is no route to it',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not from a trusted authority; name its root with --acme-ca-root PATH',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed; name it with --acme-ca-root PATH',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not from a trusted authority; name its root with --acme-ca-root PATH',
  // An authority of the same name with another key, such as one that was set up again.
  CERT_SIGNATURE_FAILURE: 'its certificate is not from a trusted authority; name its root with --acme-ca-root PATH',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its certificate is not from a trusted authority; name its root with --acme-ca-root PATH',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired, or the clock of this machine is wrong',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet, or the clock of this machine is wrong',
};

/** Error codes for a response that is not ACME. */
const ODD = /^ERR_(INVALID_URL|BAD_RESPONSE|FR_TOO_MANY_REDIRECTS|FR_REDIRECTION_FAILURE)$/;
/** The library's messages for a URL that is not an ACME directory. */
const NO_DIRECTORY = /in ACME directory|ACME directory returned|get nonce from/;

/** Classifies an error by its code, or by the authority's problem document. `about` is what was requested. */
export function toIssueError(error: unknown, about: string, authority = 'the certificate authority'): IssueError {
  if (error instanceof IssueError) return error;
  if (error instanceof ProblemError) return problemToIssueError(error, about);
  const message = error instanceof Error ? error.message : String(error);
  const code = codeOf(error);
  const unreachable = UNREACHABLE[code];
  if (unreachable !== undefined) return new IssueError('unreachable', `${authority} can't be reached: ${unreachable}`);
  if (ODD.test(code)) return new IssueError('refused', `${about}: the certificate authority does not answer in ACME: ${message}`);
  // A response without what belongs there, such as a page of a proxy in front of it.
  if (error instanceof TypeError && code === '')
    return new IssueError('refused', `${about}: the certificate authority does not answer in ACME: ${message}`);
  // Any other system or TLS error happened on the way to the authority.
  if (code !== '') return new IssueError('unreachable', `${authority} can't be reached: ${message}`);
  if (/rate ?limit|too many/i.test(message)) return new IssueError('limited', `${about}: ${message}`);
  if (/pending or processing|returned error 5\d\d|\bnonce\b|HTTP 5\d\d|serverInternal/i.test(message))
    return new IssueError('unreachable', `the certificate authority is not working: ${message}`);
  return new IssueError('refused', `${about}: ${message}`);
}

/** Explains why the account could not be opened, and names the flag that fixes it. */
export function toAccountError(error: unknown, directory: string): IssueError {
  if (error instanceof Error && NO_DIRECTORY.test(error.message)) {
    const words = `${directory} is not an ACME directory (${error.message}); name the right one with --acme-directory URL`;
    return new IssueError('refused', words);
  }
  if (!(error instanceof ProblemError)) return toIssueError(error, directory, `the certificate authority at ${directory}`);
  const { problem, message } = error;
  const refused = (advice: string): IssueError =>
    new IssueError('refused', `the certificate authority refused to create an account: ${message}; ${advice}`);
  if (problem === 'externalAccountRequired') return refused('name the account that you have there with --acme-eab KID:KEY');
  if (/contact|email/i.test(problem + message)) return refused('name another address with --acme-email EMAIL');
  if (/external|eab|binding|\bkid\b|key identifier|mac\b/i.test(message))
    return refused('check that --acme-eab KID:KEY is what the authority gave you');
  return problemToIssueError(error, directory);
}

function problemToIssueError({ problem, message, page }: ProblemError, about: string): IssueError {
  // RFC 8555 7.3.6: a deactivated account is reported as unauthorized, as are many other things.
  const ended = problem === 'unauthorized' && /\baccount\b.*\b(deactivated|revoked)\b/i.test(message);
  if (problem === 'accountDoesNotExist' || ended) return new AccountGoneError(message);
  if (problem === 'rateLimited') return new IssueError('limited', `${about}: ${message}`);
  // RFC 8555 7.3.3: its terms of service have changed, and a person has to agree.
  if (problem === 'userActionRequired')
    return new IssueError(
      'refused',
      `${about}: ${message}; open ${page ?? 'the website of the certificate authority'} and agree to it there`,
    );
  if (problem === 'serverInternal') return new IssueError('unreachable', `the certificate authority is not working: ${message}`);
  return new IssueError('refused', `${about}: ${message}`);
}
