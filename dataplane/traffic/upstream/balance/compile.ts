import { type BalancingSpec, USUAL_COOKIE } from '../../../../shared/balancing/balancing.ts';
import type { Random } from '../../../../shared/runtime/random.ts';
import { clientNetwork } from '../../../ledger/client-network.ts';
import { fieldsIn } from '../../codec/http1/kept-lines.ts';
import type { Exchange } from '../../exchange/exchange.ts';
import { parameterIn, queryOf } from '../../exchange/values/query.ts';
import type { Balancer, RoundRobin } from './balancer.ts';
import type { Candidate } from './candidate.ts';
import { LeastInFlight } from './least-in-flight.ts';
import { RandomChoice } from './random-choice.ts';
import { Ranked } from './ranked.ts';
import { FIRST, hashed } from './rankings.ts';
import { interleave } from './round-robin.ts';
import { StickyCookie } from './sticky-cookie.ts';

export type BalanceTools = {
  readonly random: Random;
  /** Signs the cookies of sticky sessions; the same in all workers and after a restart. */
  readonly cookieKey: Uint8Array;
};

/** Compiles the policy of a pool; null for round robin. `named` are its candidates, each with its stable name. */
export function compileBalancer(
  spec: BalancingSpec | null | undefined,
  domain: string,
  named: ReadonlyMap<Candidate, string>,
  roundRobin: RoundRobin,
  { random, cookieKey }: BalanceTools,
): Balancer | null {
  if (spec == null) return null;
  const { policy, name = '', choices = 2 } = spec;
  const candidates = [...named.keys()];
  const byHash = (textOf: (x: Exchange) => string | null): Balancer => new Ranked(candidates, hashed(textOf, candidates), roundRobin);
  switch (policy) {
    case 'round_robin':
      return null;
    case 'least_conn':
      return new LeastInFlight(candidates);
    case 'first':
      return new Ranked(candidates, FIRST, roundRobin);
    case 'random':
      return new RandomChoice(interleave(candidates), 1, random);
    case 'random_choose':
      return new RandomChoice(interleave(candidates), choices, random);
    case 'ip_hash':
      return byHash((x) => clientNetwork(x.client.facts().connection.address));
    case 'client_ip_hash':
      return byHash((x) => clientNetwork(x.client.address));
    case 'uri_hash':
      return byHash((x) => x.target);
    case 'header':
      return byHash(fieldText(name.toLowerCase()));
    case 'query':
      return byHash(parameterText(Buffer.from(name).toString('latin1')));
    case 'cookie':
      return new StickyCookie(named, { key: cookieKey, domain, name: name || USUAL_COOKIE }, roundRobin);
  }
}

const fieldText = (name: string) =>
  name === 'host' ? (x: Exchange) => x.host : (x: Exchange) => fieldsIn(x.fields, name).join(', ') || null;

const parameterText = (name: string) => (x: Exchange) => parameterIn(queryOf(x.target), name);
