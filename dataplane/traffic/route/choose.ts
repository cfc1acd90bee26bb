import type { Exchange } from '../exchange/exchange.ts';
import type { HostIndex } from '../match/host-index.ts';
import { isAt, localAddressOf } from '../match/place.ts';
import type { Pool } from '../upstream/pool/pool.ts';
import type { CompiledBlock, CompiledRoute, Passthrough } from './compiled-route.ts';

/** The block that answers a request: the first that matches in the order written, else the site itself. */
export function blockFor(route: CompiledRoute, x: Exchange): CompiledBlock | null {
  const block = route.blocks.choose(x) ?? route.site;
  return block === null || block.variants === null ? block : block.variants.choose(x);
}

/** The block in this table for an exchange that may have been served by an earlier one; null if it has none, or keeps its own pool. */
export function newestBlock(index: HostIndex<CompiledRoute>, x: Exchange): CompiledBlock | null {
  const request = x.requestPath.routedAs(x);
  const route = request && index.find(request.host, request.port);
  return route && blockFor(route, request);
}

/** The pool of that block; null if it has none, and undefined if the exchange keeps its own. */
export const newestPool = (index: HostIndex<CompiledRoute>, x: Exchange): Pool | null | undefined =>
  x.requestPath.routedAs(x) === null ? undefined : (newestBlock(index, x)?.pool ?? null);

/**
 * Where TLS connections for a host that arrive at a port and address (null: any) are passed on to, and the route that says so; null if they
 * end here. The address costs a system call, so only a route that is limited to some asks for it.
 */
export function passthroughAt(
  index: HostIndex<CompiledRoute>,
  host: string,
  port: number,
  address: (() => string) | null,
): { readonly route: CompiledRoute; readonly passthrough: Passthrough } | null {
  const route = index.find(host, port, (other) => passthroughOf(other, port, address) !== null);
  const passthrough = route && passthroughOf(route, port, address);
  return route && passthrough && { route, passthrough };
}

/**
 * The route of a request; `passed on` if TLS connections for its host are passed on where its own has arrived, but that one ended here: it
 * was made for another host, or before the route said so.
 */
export function routeOf(index: HostIndex<CompiledRoute>, x: Exchange): CompiledRoute | 'passed on' | null {
  const { host, port, clientRule } = x;
  const found = index.find(host, port, clientRule === null ? null : mayPassOn);
  // Hardly any route passes connections on.
  if (found === null || found.passthrough === null) return found;
  if (clientRule !== null && passthroughAt(index, host, port, () => localAddressOf(x)) !== null) return 'passed on';
  return index.find(host, port);
}

const mayPassOn = ({ passthrough }: CompiledRoute): boolean => passthrough !== null;

const passthroughOf = ({ passthrough }: CompiledRoute, port: number, address: (() => string) | null): Passthrough | null =>
  passthrough?.find((one) => isAt(one, port, address)) ?? null;

/** The pools that a route has opened, each once. */
export const poolsOf = (route: CompiledRoute): Set<Pool> => poolsIn(route, route.blocks.compiled());

function poolsIn({ site, passthrough }: CompiledRoute, blocks: Iterable<CompiledBlock>): Set<Pool> {
  const pools = new Set(passthrough?.map(({ pool }) => pool));
  for (const block of [site, ...blocks]) {
    if (block === null) continue;
    if (block.pool !== null) pools.add(block.pool);
    for (const pool of block.policyPools) pools.add(pool);
  }
  return pools;
}

/** The pools of a domain in a table that may have a target with this address; none if it is not routed. */
export function poolsAt(index: HostIndex<CompiledRoute>, domain: string, address: string): ReadonlySet<Pool> {
  const route = index.at(domain);
  return route === null ? new Set() : poolsIn(route, route.blocks.naming(address));
}
