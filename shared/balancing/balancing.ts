import { TOKEN } from '../values/token.ts';

/** The policies that need no argument. */
export const PLAIN_POLICIES = ['round_robin', 'least_conn', 'random', 'first', 'ip_hash', 'client_ip_hash', 'uri_hash'] as const;
/** The policies that depend on a named part of the request. */
export const NAMED_POLICIES = ['header', 'query', 'cookie'] as const;
/** How many targets `random_choose` compares. */
export const MAX_CHOICES = 10;
/** The name of the cookie if the policy gives none. */
export const USUAL_COOKIE = 'lb';

/** The maximum length of the name of a header field, query parameter or cookie (characters). */
export const LONGEST_NAME = 256;

export type BalancingSpec = {
  readonly policy: (typeof PLAIN_POLICIES)[number] | (typeof NAMED_POLICIES)[number] | 'random_choose';
  /** The header field, query parameter or cookie. */
  readonly name?: string | undefined;
  /** For `random_choose`. */
  readonly choices?: number | undefined;
};

/** Why a text can't be the name of a header field or a cookie; undefined if it can. */
export function tokenFault(name: string): string | undefined {
  return TOKEN.test(name) && name.length <= LONGEST_NAME
    ? undefined
    : "a name is letters, digits and !#$%&'*+.^_`|~-, 256 characters at most";
}

/** The first member that does not belong there, and why; undefined if there is none. */
export function balancingFault({ policy, name, choices }: BalancingSpec): { readonly member: string; readonly reason: string } | undefined {
  if (choices !== undefined && policy !== 'random_choose') return { member: 'choices', reason: 'applies only to random_choose' };
  if (policy !== 'header' && policy !== 'query' && policy !== 'cookie')
    return name === undefined ? undefined : { member: 'name', reason: 'applies only to header, query and cookie' };
  if (name === undefined) return policy === 'cookie' ? undefined : { member: 'name', reason: `${policy} needs a name` };
  const fault = policy === 'query' ? undefined : tokenFault(name);
  return fault === undefined ? undefined : { member: 'name', reason: fault };
}
