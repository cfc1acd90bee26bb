import { didYouMean } from '../closest.ts';
import { type BalancingSpec, MAX_CHOICES, NAMED_POLICIES, PLAIN_POLICIES, tokenFault } from './balancing.ts';

export const BALANCING_FORM =
  'lb_policy round_robin|least_conn|random|random_choose <n>|first|ip_hash|client_ip_hash|uri_hash|header <name>|query <name>|cookie [<name>]';

/** What is wrong with the word at an index; the index after the last one if a word is missing. */
export type BalancingFault = { readonly at: number; readonly reason: string };

/** Names in other proxies. */
const OTHER_NAMES: ReadonlyMap<string, BalancingSpec['policy']> = new Map([
  ['roundrobin', 'round_robin'],
  ['rr', 'round_robin'],
  ['leastconn', 'least_conn'],
  ['least_connections', 'least_conn'],
  ['least_request', 'least_conn'],
  ['p2c', 'random_choose'],
  ['two_random', 'random_choose'],
  ['sticky', 'cookie'],
  ['source', 'ip_hash'],
  ['uri', 'uri_hash'],
]);

const isIn = <T extends string>(list: readonly T[], text: string): text is T => (list as readonly string[]).includes(text);

/** Reads a policy and its arguments, as written in the config file and in a label. */
export function readBalancing(words: readonly string[]): { readonly spec: BalancingSpec } | { readonly fault: BalancingFault } {
  const [policy = '', argument, ...rest] = words;
  if (policy === '') return { fault: { at: 0, reason: 'a policy is missing' } };
  if (isIn(PLAIN_POLICIES, policy)) return argument === undefined ? { spec: { policy } } : surplus(1, policy);
  if (rest.length > 0 && (policy === 'random_choose' || isIn(NAMED_POLICIES, policy))) return surplus(2, policy);
  if (policy === 'random_choose') return readChoices(argument);
  if (isIn(NAMED_POLICIES, policy)) return readNamed(policy, argument);
  const other = OTHER_NAMES.get(policy);
  const meant =
    other === undefined ? didYouMean(policy, [...PLAIN_POLICIES, 'random_choose', ...NAMED_POLICIES]) : ` (did you mean "${other}"?)`;
  return { fault: { at: 0, reason: `there is no such policy${meant}` } };
}

const surplus = (at: number, policy: string) => ({ fault: { at, reason: `it is one argument too many for ${policy}` } });

function readChoices(argument: string | undefined): ReturnType<typeof readBalancing> {
  const choices = argument === undefined ? 2 : Number(argument);
  if (/^\d+$/.test(argument ?? '2') && choices >= 2 && choices <= MAX_CHOICES) return { spec: { policy: 'random_choose', choices } };
  return { fault: { at: 1, reason: `a number from 2 to ${MAX_CHOICES}` } };
}

function readNamed(policy: (typeof NAMED_POLICIES)[number], name: string | undefined): ReturnType<typeof readBalancing> {
  if (name === undefined) return policy === 'cookie' ? { spec: { policy } } : { fault: { at: 1, reason: `${policy} needs a name` } };
  const reason = policy === 'query' ? (name.length > 256 ? 'it is too long' : undefined) : tokenFault(name);
  return reason === undefined ? { spec: { policy, name } } : { fault: { at: 1, reason } };
}
