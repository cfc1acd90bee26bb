import { createHash } from 'node:crypto';
import type { Gateway } from '../objects/gateway.ts';
import type { Publish } from '../status/desired-status.ts';

/** Which addresses a Gateway has: all of the proxy, one of its own, or none because it requests one that the proxy does not have. */
export type OwnAddress = { readonly kind: 'all' } | { readonly kind: 'one'; readonly address: string } | { readonly kind: 'none' };

const ALL: OwnAddress = { kind: 'all' };

/**
 * The addresses to divide among Gateways: the published ones, where connections arrive at them. At a pod behind a load balancer they arrive
 * at the pod's own address, whichever one the client connected to, so there all Gateways share all of them.
 */
export function addressesToDivide(publish: Publish | null, isPod: boolean, interfaces: readonly string[]): readonly string[] {
  if (publish?.kind !== 'addresses') return [];
  const addresses = publish.addresses.flatMap(({ kind, value }) => (kind === 'ip' ? [value] : []));
  return isPod && !addresses.every((address) => interfaces.includes(address)) ? [] : addresses;
}

/**
 * Gives each Gateway an address of its own if the proxy has several: the one that it requests, the one in its status, or a free one. The
 * same Gateways therefore get the same addresses in every replica, and no Gateway loses its address because of another one, except to one of
 * its namespace that requests it: hosts have one certificate at all addresses, so others could answer for them there. With more Gateways than
 * addresses, or if one has requested that of another namespace, some share one.
 * @param gateways The oldest first.
 */
export function assignAddresses(gateways: readonly Gateway[], published: readonly string[]): ReadonlyMap<Gateway, OwnAddress> {
  if (published.length < 2) return new Map(gateways.map((gateway) => [gateway, ALL]));
  const taken = new Map<string, number>(published.map((address) => [address, 0]));
  const assigned = new Map<Gateway, OwnAddress>();
  /** By address and namespace. */
  const requested = new Set<string>();
  /** The same. */
  const kept = new Set<string>();
  const give = (gateway: Gateway, address: string): void => {
    taken.set(address, (taken.get(address) ?? 0) + 1);
    assigned.set(gateway, { kind: 'one', address });
  };
  for (const gateway of gateways) {
    const wanted = gateway.addresses.filter(({ value }) => value !== '').map(({ value }) => value);
    const [own] = wanted;
    if (own === undefined) continue;
    if (wanted.length === 1 && taken.has(own)) {
      give(gateway, own);
      requested.add(`${own} ${gateway.meta.namespace}`);
    } else assigned.set(gateway, { kind: 'none' });
  }
  // A Gateway that reports several got them when the proxy had a single address, or no address of its own.
  const keptBy = ({ reported: [reported = '', ...others], meta }: Gateway): string | null =>
    others.length === 0 && taken.has(reported) && !requested.has(`${reported} ${meta.namespace}`) ? reported : null;
  for (const gateway of gateways) {
    const reported = keptBy(gateway);
    // Of several namespaces, none has to leave: one may have come by a request that it withdrew.
    const key = `${reported} ${gateway.meta.namespace}`;
    if (assigned.has(gateway) || reported === null || kept.has(key)) continue;
    give(gateway, reported);
    kept.add(key);
  }
  for (const gateway of gateways) {
    if (assigned.has(gateway)) continue;
    const least = Math.min(...taken.values());
    const free = published.filter((address) => taken.get(address) === least);
    const [best] = free.map((address) => ({ address, rank: rankOf(gateway, address) })).sort((a, b) => (a.rank < b.rank ? -1 : 1));
    const own = least > 0 ? keptBy(gateway) : null;
    if (best) give(gateway, own ?? best.address);
  }
  return assigned;
}

/** Each Gateway has its own order of preference among several addresses (rendezvous hashing). */
const rankOf = ({ meta }: Gateway, address: string): string => createHash('sha256').update(`${meta.uid} ${address}`).digest('hex');
