import { isIP } from 'node:net';
import { splitAddress } from '../../../shared/address.ts';
import type { UpstreamSpec } from '../../../shared/route.ts';
import type { Endpoint, Endpoints } from './endpoint.ts';

/** The targets of a site or block, and whose turn it is. */
export class Pool {
  /** Targets in rotation, each as often as its weight says, evenly mixed. */
  private readonly turns: readonly Endpoint[];
  private next = 0;
  readonly endpoints: readonly Endpoint[];
  /** Those that are not being drained. */
  private readonly staying: readonly Endpoint[];

  constructor(endpoints: readonly Endpoint[], turns: readonly Endpoint[], staying: readonly Endpoint[] = endpoints) {
    this.endpoints = endpoints;
    this.turns = turns;
    this.staying = staying;
  }

  /**
   * Round robin over the targets that are well and not in `tried`. When all of those are ejected, the next
   * one all the same: passive health never takes out a pool's last target. null when the pool has none left.
   */
  pick(now: number, tried: readonly Endpoint[] | null): Endpoint | null {
    const count = this.turns.length;
    let lastResort: Endpoint | null = null;
    for (let step = 0; step < count; step++) {
      if (this.next >= count) this.next = 0;
      const endpoint = this.turns[this.next++] as Endpoint;
      if (tried?.includes(endpoint)) continue;
      if (!endpoint.ejected(now)) return endpoint;
      lastResort ??= endpoint;
    }
    return lastResort;
  }

  /** Whether the target of an endpoint, perhaps one of an earlier table, is one of its own and is to stay. */
  keeps({ address, serverName }: Endpoint): boolean {
    return this.staying.some((own) => own.address === address && own.serverName === serverName);
  }

  /** What `pick` would choose now, without taking its turn. */
  peek(now: number): Endpoint | null {
    const count = this.turns.length;
    for (let step = 0; step < count; step++) {
      const endpoint = this.turns[(this.next + step) % count] as Endpoint;
      if (!endpoint.ejected(now)) return endpoint;
    }
    return this.turns[this.next % count] ?? null;
  }
}

/** Opens the pools of a worker over its endpoints, which routes share. */
export class Pools {
  private readonly endpoints: Endpoints;

  constructor(endpoints: Endpoints) {
    this.endpoints = endpoints;
  }

  /** `domain` names the certificate that an IP literal must show. */
  open(domain: string, upstreams: readonly UpstreamSpec[], tls: boolean): Pool {
    const all = upstreams.map((upstream) => {
      const host = splitAddress(upstream.address).host;
      const serverName = tls ? (isIP(host) === 0 ? host : domain) : null;
      return { upstream, endpoint: this.endpoints.open({ address: upstream.address, serverName, passing: upstream.id !== undefined }) };
    });
    const inRotation = all.filter(({ upstream }) => upstream.state === 'healthy' && upstream.weight > 0);
    const turns = interleave(inRotation.map(({ upstream, endpoint }) => ({ endpoint, weight: upstream.weight })));
    return new Pool(
      all.map(({ endpoint }) => endpoint),
      turns,
      all.filter(({ upstream }) => upstream.state !== 'draining').map(({ endpoint }) => endpoint),
    );
  }
}

/** Spreads targets by weight: 2 and 1 become a, b, a; never a, a, b where it can be helped. */
function interleave(targets: readonly { endpoint: Endpoint; weight: number }[]): Endpoint[] {
  const divisor = targets.reduce((sofar, { weight }) => greatestCommonDivisor(sofar, weight), 0) || 1;
  const shares = targets.map(({ endpoint, weight }) => ({ endpoint, weight: weight / divisor, credit: 0 }));
  const total = shares.reduce((sum, { weight }) => sum + weight, 0);
  const turns: Endpoint[] = [];
  for (let turn = 0; turn < total; turn++) {
    for (const share of shares) share.credit += share.weight;
    const best = shares.reduce((a, b) => (b.credit > a.credit ? b : a));
    best.credit -= total;
    turns.push(best.endpoint);
  }
  return turns;
}

const greatestCommonDivisor = (a: number, b: number): number => (b === 0 ? a : greatestCommonDivisor(b, a % b));
