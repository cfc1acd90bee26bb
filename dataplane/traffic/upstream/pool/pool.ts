import type { BalancingSpec } from '../../../../shared/balancing/balancing.ts';
import type { UpstreamSpec } from '../../../../shared/route.ts';
import type { PoolSpec } from '../../../../shared/upstreams/pools.ts';
import { certificateName } from '../../../../shared/values/address.ts';
import { keyOf } from '../../../ledger/hash.ts';
import { activeCheck } from '../../../ledger/health-checks.ts';
import type { Exchange, PassiveHealth } from '../../exchange/exchange.ts';
import type { Limits } from '../../exchange/limits.ts';
import type { NamedEndpoint } from '../../exchange/named-endpoint.ts';
import type { Balancer } from '../balance/balancer.ts';
import type { Candidate } from '../balance/candidate.ts';
import { type BalanceTools, compileBalancer } from '../balance/compile.ts';
import { interleave } from '../balance/round-robin.ts';
import { HealthFlag } from '../health/health-flag.ts';
import { passiveHealthOf } from '../health/passive-health.ts';
import { type RetryRules, retryRulesOf } from '../retry/retry.ts';
import type { Endpoint } from '../target/endpoint.ts';
import { limitsOf } from '../target/limits.ts';
import { transportOf } from '../target/transport.ts';
import type { Endpoints } from './endpoints.ts';

/** A target within its pool. */
type Member = Candidate & { readonly state: UpstreamSpec['state'] };

/** Compiles the policy of a pool for those of its targets that may get requests; null for round robin. */
type Policy = (candidates: readonly Candidate[], roundRobin: (x: Exchange, now: number) => Endpoint | null) => Balancer | null;

/** Policies that may send a request to any target, so that a slow start does not break a session. */
const SPREADING: ReadonlySet<BalancingSpec['policy'] | undefined> = new Set(['least_conn', 'random', 'random_choose']);

/** The targets of a site or block, and which of them is next. */
export class Pool {
  private readonly members: readonly Member[];
  /** Targets whose state allows them in rotation, repeated according to their weights and evenly spread. */
  private readonly turns: readonly Endpoint[];
  /** The health state that can exclude the target of each turn; null if there is none. */
  private readonly healthFlags: readonly (HealthFlag | null)[] | null;
  /** Targets that are told to stop, and may still serve. */
  private readonly draining: readonly Endpoint[];
  private next: number;
  private nextDraining = 0;
  readonly endpoints: readonly Endpoint[];
  /** Time limits for its targets. */
  readonly limits: Limits;
  /** Whether its targets speak HTTP/2. */
  readonly http2: boolean;
  /** What chooses a target; null for round robin. */
  private readonly balancer: Balancer | null;
  /** The policy that chooses a target. */
  readonly balancing: BalancingSpec | null;
  /** When failed requests take one of them out of rotation. */
  readonly passive: PassiveHealth;
  readonly retries: RetryRules;
  /** The time over which the share of a target grows once it enters the rotation (ms); 0 is at once. */
  readonly slowStartMs: number;
  /** The maximum number of concurrent requests per target; 0 is no limit. */
  readonly maxInFlight: number;
  /** How many requests of a worker may wait for a target below that limit, and for how many ms. */
  readonly maxQueued: number;
  readonly queueMs: number;
  /** Whether a newer table has replaced it. */
  closed = false;

  /** `first`: which turn comes first; each worker has its own, so that few requests on connections to several workers are shared out, too. */
  constructor(members: readonly Member[], options: Omit<PoolSpec<unknown>, 'upstreams'>, policy: Policy, first: number) {
    const { transport, lb_policy: balancing, passive_health: passive, slow_start_secs: secs, max_in_flight: concurrency } = options;
    this.limits = limitsOf(transport);
    this.http2 = transport?.protocol !== undefined;
    this.balancing = balancing ?? null;
    this.passive = passiveHealthOf(passive);
    this.slowStartMs = (secs ?? 0) * 1_000;
    this.retries = retryRulesOf(options);
    this.maxInFlight = concurrency?.requests ?? 0;
    this.maxQueued = concurrency?.queue ?? 0;
    this.queueMs = (concurrency?.queue_secs ?? 0) * 1_000;
    this.members = members;
    this.endpoints = members.map(({ endpoint }) => endpoint);
    const able = members.filter(({ weight }) => weight > 0);
    const candidates = able.filter(({ state, healthFlag }) => state === 'healthy' || healthFlag !== null);
    const turns = interleave(candidates);
    this.balancer = policy(candidates, (x, now) => this.roundRobin(now, x));
    this.turns = turns.map(({ endpoint }) => endpoint);
    this.next = turns.length > 0 ? first % turns.length : 0;
    this.healthFlags = turns.some(({ healthFlag }) => healthFlag !== null) ? turns.map(({ healthFlag }) => healthFlag) : null;
    this.draining = able.filter(({ state }) => state === 'draining').map(({ endpoint }) => endpoint);
  }

  /** The target for a request among those that have not failed it; null when the pool has none left. `now` in ms since 1970. */
  pick(now: number, x: Exchange): Endpoint | null {
    const endpoint = this.balancer === null ? this.roundRobin(now, x) : this.balanced(this.balancer, now, x);
    endpoint?.tryAgain(now, this.passive, x.upgrade);
    return endpoint;
  }

  private balanced(balancer: Balancer, now: number, x: Exchange): Endpoint | null {
    const endpoint = balancer.pick(x, now);
    if (endpoint === null || this.slowStartMs === 0 || !SPREADING.has(this.balancing?.policy)) return endpoint;
    return this.isRamped(this.turns.indexOf(endpoint), now) ? endpoint : (this.roundRobin(now, x) ?? endpoint);
  }

  /** Whether the target of this turn gets the request, or is starting slowly. */
  private isRamped(turn: number, now: number): boolean {
    if (this.slowStartMs === 0) return true;
    return (this.turns[turn] as Endpoint).ramped(now, this.slowStartMs, this.healthFlags?.[turn]?.healthySince ?? 0);
  }

  /**
   * Round robin over the targets that are healthy and have not failed the request. If all of those are ejected, the next
   * one anyway: passive health checks never remove a pool's last target. null when the pool has none left.
   */
  private roundRobin(now: number, x: Exchange): Endpoint | null {
    const { tried } = x;
    const count = this.turns.length;
    let [starting, ejected] = [-1, -1];
    for (let step = 0; step < count; step++) {
      if (this.next >= count) this.next = 0;
      const turn = this.next++;
      const endpoint = this.turns[turn] as Endpoint;
      if (tried?.includes(endpoint) || this.healthFlags?.[turn]?.isOut || this.isFull(endpoint)) continue;
      if (endpoint.ejectedFor(x, now)) ejected = ejected < 0 ? turn : ejected;
      else if (this.isRamped(turn, now)) return endpoint;
      else if (starting < 0) starting = turn;
    }
    const turn = starting < 0 ? ejected : starting;
    if (turn < 0) return null;
    this.next = turn + 1;
    return this.turns[turn] as Endpoint;
  }

  private isFull(endpoint: Endpoint): boolean {
    return this.maxInFlight > 0 && endpoint.inFlight >= this.maxInFlight;
  }

  /** A request lacks a place at its targets. */
  foundFull(): void {
    for (const endpoint of this.turns) if (this.isFull(endpoint)) endpoint.foundFull(this.maxInFlight);
  }

  /** Whether a target that has not failed the request could get it now. */
  hasRoom({ tried }: Exchange): boolean {
    return this.turns.some((endpoint, turn) => !this.healthFlags?.[turn]?.isOut && !tried?.includes(endpoint) && !this.isFull(endpoint));
  }

  /** Whether a target that has not failed the request only lacks room for it. */
  isBusy(x: Exchange): boolean {
    return this.maxInFlight > 0 && this.hasUntried(x);
  }

  /** Whether a healthy target has not failed the request. */
  hasUntried({ tried }: Exchange): boolean {
    return this.turns.some((endpoint, turn) => !this.healthFlags?.[turn]?.isOut && !tried?.includes(endpoint));
  }

  /** Whether a target other than this one is in rotation for a request. `now` in ms since 1970. */
  hasOther(endpoint: NamedEndpoint, x: Exchange, now: number): boolean {
    const { tried } = x;
    return this.turns.some(
      (other, turn) =>
        other !== endpoint &&
        !this.healthFlags?.[turn]?.isOut &&
        !tried?.includes(other) &&
        !other.ejectedFor(x, now) &&
        !this.isFull(other),
    );
  }

  /** A target that is draining, for requests without any other: many still serve until they exit. */
  pickDraining(tried: readonly NamedEndpoint[] | null): Endpoint | null {
    for (let step = 0; step < this.draining.length; step++) {
      const endpoint = this.draining[this.nextDraining++ % this.draining.length] as Endpoint;
      if (!tried?.includes(endpoint)) return endpoint;
    }
    return null;
  }

  /** A target that `pick` could choose now, without taking its turn. */
  peek(now: number): Endpoint | null {
    const count = this.turns.length;
    let lastResort: Endpoint | null = null;
    for (let step = 0; step < count; step++) {
      const turn = (this.next + step) % count;
      if (this.healthFlags?.[turn]?.isOut) continue;
      const endpoint = this.turns[turn] as Endpoint;
      if (!endpoint.ejected(now)) return endpoint;
      lastResort ??= endpoint;
    }
    return lastResort;
  }

  /** A newer table has replaced it: it no longer claims its targets. Requests that already use it continue. */
  close(): void {
    this.closed = true;
    for (const endpoint of this.endpoints) endpoint.poolCount--;
  }

  /** Whether the first health check of one of its targets is under way. */
  get undecided(): boolean {
    return this.healthFlags?.some((healthFlag) => healthFlag?.undecided === true) === true;
  }

  /** How many targets are draining. */
  get drainingCount(): number {
    return this.draining.length;
  }

  /** Whether a request may be sent to the target, now or once it is healthy. */
  sendsTo(endpoint: Endpoint): boolean {
    return this.turns.includes(endpoint);
  }

  /** What the source says about a target; null if it is not in the pool. */
  stateOf(endpoint: Endpoint): UpstreamSpec['state'] | null {
    return this.members.find((member) => member.endpoint === endpoint)?.state ?? null;
  }

  /** Whether the target of an endpoint, possibly from an earlier table, is in this pool and not shutting down. */
  keeps({ address, serverName, id, transport }: Endpoint): boolean {
    return this.members.some(
      ({ endpoint: own, state }) =>
        state !== 'draining' &&
        own.address === address &&
        own.serverName === serverName &&
        own.id === id &&
        own.transport.name === transport.name,
    );
  }
}

/** Opens the pools of a worker over its endpoints, which routes share. */
export class Pools {
  private readonly endpoints: Endpoints;
  private readonly tools: BalanceTools;

  constructor(endpoints: Endpoints, tools: BalanceTools) {
    this.endpoints = endpoints;
    this.tools = tools;
  }

  /** `domain` is the certificate name to verify if the target is an IP literal. An opened pool claims its targets until it is closed. */
  open(domain: string, pool: PoolSpec<UpstreamSpec>): Pool {
    const { targets, clock, slot } = this.endpoints.tools;
    const { upstreams, tls, health, transport: spec, lb_policy: balancing = null, max_in_flight: concurrency } = pool;
    const transport = transportOf(spec);
    const members = upstreams.map((upstream): Member => {
      const { address, id = null, state, weight } = upstream;
      const serverName = tls ? (spec?.server_name ?? certificateName(address, domain)) : null;
      const check = activeCheck(domain, upstream, tls, health, spec);
      const healthFlag = check && new HealthFlag(targets, check, clock.now());
      const endpoint = this.endpoints.open({ address, serverName, id, transport });
      endpoint.poolCount++;
      if (state !== 'draining') endpoint.keepIdle(true);
      endpoint.rotate(state === 'healthy' || healthFlag !== null);
      return {
        endpoint,
        state,
        weight,
        healthFlag,
        maxInFlight: concurrency?.requests ?? 0,
        hash: balancing === null ? 0 : keyOf(stableName(upstream)).hash,
      };
    });
    const names = new Map<Candidate, string>(members.map((member, index) => [member, stableName(upstreams[index] as UpstreamSpec)]));
    const policy: Policy = (candidates, roundRobin) => {
      const named = new Map(candidates.map((candidate) => [candidate, names.get(candidate) ?? '']));
      return compileBalancer(balancing, domain, named, roundRobin, this.tools);
    };
    return new Pool(members, pool, policy, slot);
  }
}

/** The name by which policies recognize a target in another worker, after a restart, and in the next table. */
const stableName = ({ id, address }: UpstreamSpec): string => id ?? address;
