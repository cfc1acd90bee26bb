import type { HttpMatch } from '../objects/http-route.ts';
import type { HostBlock } from '../routes/host-block.ts';
import type { HostRules, RuleMatch } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';
import type { BoundListener } from './listeners.ts';
import { mapPort, type PortMap } from './port-map.ts';
import type { RouteBackends } from './route-backends.ts';
import { blocksOfRule, type Handle } from './rule-blocks.ts';

/** What Gateways say of a host. */
export type GatewayHost = {
  readonly name: Hostname;
  /** The ports of the data plane that it is served on. */
  readonly ports: readonly number[];
  readonly blocks: readonly HostBlock[];
  /** `NAMESPACE/NAME` of the Secrets that are presented for it. */
  readonly secrets: readonly string[];
  /** PEM: the authorities of client certificates. */
  readonly clientAuthorities: string | null;
  /** Those of Gateways that have it. */
  readonly listeners: readonly BoundListener[];
};

/** Builds the blocks of a host from the rules of its listeners. Blocks that differ by port are for some ports only. */
export function gatewayHost(name: Hostname, rules: HostRules, map: PortMap, backends: RouteBackends): GatewayHost {
  const ports = rules.ports.filter((port) => rules.listenersFor(name, port).length > 0);
  const listeners = [...new Set(ports.flatMap((port) => rules.listenersFor(name, port)))];
  const lists = ports.map((port) => rules.rulesFor(name, port));
  const places = ports.map((port, index): Place & { readonly matches: ReadonlySet<HttpMatch> } => ({
    port,
    scheme: schemeOf(rules.listenersFor(name, port)),
    matches: new Set(lists[index]?.map(({ match }) => match)),
  }));
  const blocks = inOrder(lists).flatMap((one) => {
    const served = places.filter(({ matches }) => matches.has(one.match));
    return blocksOf(one, served, ports.length, map, backends);
  });
  return {
    ...{ name, blocks, listeners },
    ports: [...new Set(ports.map((port) => mapPort(map, port)))],
    secrets: [...new Set(listeners.flatMap(({ secrets }) => secrets))],
    clientAuthorities: listeners.find(({ clientAuthorities }) => clientAuthorities !== null)?.clientAuthorities ?? null,
  };
}

const schemeOf = (listeners: readonly BoundListener[]): Place['scheme'] => (listeners[0]?.listener.protocol === 'HTTP' ? 'http' : 'https');

/** All matches of several ordered lists, in an order that each of them agrees with. */
function inOrder(lists: readonly (readonly RuleMatch[])[]): readonly RuleMatch[] {
  const [first = [], ...others] = lists;
  if (others.every((list) => list.length === first.length && list.every(({ match }, at) => match === first[at]?.match))) return first;
  const all = [...first];
  for (const list of others) {
    let at = 0;
    for (const one of list) {
      const known = all.findIndex(({ match }) => match === one.match);
      if (known < 0) all.splice(at++, 0, one);
      else at = Math.max(at, known + 1);
    }
  }
  return all;
}

type Place = { readonly port: number; readonly scheme: 'http' | 'https' };

function blocksOf(one: RuleMatch, places: readonly Place[], portsOfHost: number, map: PortMap, backends: RouteBackends): HostBlock[] {
  const { route, rule, number, match } = one;
  const variants = new Map<string, { readonly blocks: readonly Handle[]; readonly ports: number[] }>();
  for (const place of places) {
    const { blocks } = blocksOfRule(route, rule, number, match, place, backends);
    const text = JSON.stringify(blocks);
    const variant = variants.get(text);
    if (variant) variant.ports.push(mapPort(map, place.port));
    else variants.set(text, { blocks, ports: [mapPort(map, place.port)] });
  }
  return [...variants.values()].flatMap(({ blocks, ports }) =>
    blocks.map((handle): HostBlock => ({ match, handle: ports.length === portsOfHost ? handle : onPorts(handle, ports) })),
  );
}

const onPorts = (handle: Handle, ports: readonly number[]): Handle => ({
  ...handle,
  match: { ...handle.match, port: [...new Set(ports)] },
});
