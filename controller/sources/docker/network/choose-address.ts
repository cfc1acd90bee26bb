import { LABEL_PREFIX } from '../../../../shared/name.ts';
import type { SiteLabels } from '../../labels/read-labels.ts';
import type { Container, ContainerNetwork } from '../engine/container.ts';
import type { NetworkReach } from './network-reach.ts';
import { isRoutingMesh } from './routing-mesh.ts';

/** The address to which a site's requests are sent and why, or why there is none and what would change that. */
export type AddressChoice =
  | { readonly address: string; readonly reason: string }
  | { readonly address: null; readonly reason: string; readonly change: string };

/**
 * Which address of a container is used: one on a network shared with the data plane, always the container's own, or the published port's.
 */
export const ADDRESS_KINDS = ['auto', 'container', 'published'] as const;
export type AddressKind = (typeof ADDRESS_KINDS)[number];

export type AddressContext = {
  readonly reach: NetworkReach;
  readonly addresses: AddressKind;
  /** The network to prefer if a container shares several with the data plane. */
  readonly network: string | null;
  /** Whether a data plane is on a different machine from the engine, so that loopback and bridges differ. */
  readonly elsewhere: boolean;
};

/** In a fixed order, so that the same snapshot gives the same address: the label's network, the flag's, then by name; IPv4 before IPv6. */
export function chooseAddress(
  container: Container,
  site: Pick<SiteLabels, 'port' | 'network' | 'site'>,
  where: AddressContext,
): AddressChoice {
  const port = site.port ?? onlyPort(container);
  if (port === null) return withoutPort(container, site.site);
  if (where.addresses === 'published') return published(container, port, where);
  if (where.reach.kind === 'unknown') return nowhere('no data plane has reported its networks yet', 'connect a data plane');
  if (container.networkMode === 'host') return onHost(port, where);
  if (container.networkMode.startsWith('container:'))
    return nowhere('it uses the network of another container', 'put the labels on the container whose network it uses');
  return onNetwork(container, port, site.network, where);
}

const onlyPort = ({ exposedTcpPorts: [first, ...others] }: Container): number | null => (others.length === 0 ? (first ?? null) : null);

function withoutPort({ exposedTcpPorts: ports }: Container, site: string | null): AddressChoice {
  const label = `${LABEL_PREFIX}${site === null ? '' : `${site}.`}port`;
  return ports.length === 0
    ? nowhere('it exposes no TCP port', `name the port that the app listens on with the label ${label}=PORT`)
    : nowhere(`it exposes the ports ${ports.join(', ')}`, `name one of them with the label ${label}=${ports[0]}`);
}

function published({ publishedPorts }: Container, port: number, { reach, elsewhere }: AddressContext): AddressChoice {
  const found = publishedPorts.find(({ containerPort, hostPort }) => containerPort === port && hostPort > 0);
  if (!found) {
    const change = elsewhere ? `an address that the data plane reaches: -p ADDRESS::${port}` : `a loopback address: -p 127.0.0.1::${port}`;
    return nowhere(`its port ${port} is not published`, `publish it on ${change}`);
  }
  const isAny = found.hostIp === '' || found.hostIp === '0.0.0.0' || found.hostIp === '::';
  const host = isAny ? '127.0.0.1' : found.hostIp;
  if (elsewhere && isLoopback(host))
    return nowhere(
      `its port ${port} is published on ${isAny ? 'every address' : `${host}, the loopback address`} of this machine, but a data plane is on another machine`,
      `publish it on the address that the data plane reaches: -p ADDRESS:${found.hostPort}:${port}`,
    );
  if (reach.kind === 'networks' && isLoopback(host))
    return nowhere(
      `its port ${port} is published on the loopback address of the host, which the data plane (${reach.container}) cannot reach`,
      'run the data plane on the host, or leave out --docker-address published',
    );
  return { address: socketAddress(host, found.hostPort), reason: `the published port of its port ${port}` };
}

function onHost(port: number, { reach, elsewhere }: AddressContext): AddressChoice {
  if (elsewhere)
    return nowhere(
      "it is on the host's own network, but a data plane is on another machine",
      'put it on a network that the data plane reaches',
    );
  if (reach.kind === 'host') return { address: `127.0.0.1:${port}`, reason: "it is on the host's own network, like the data plane" };
  return nowhere("it is on the host's own network, which the data plane does not share", 'put it on a network of the data plane');
}

function onNetwork(container: Container, port: number, named: string | null, where: AddressContext): AddressChoice {
  const { networks } = container;
  if (networks.length === 0) return nowhere('it has no address on any network', 'connect it to a network of the data plane');
  const wanted = named === null ? networks : networks.filter(({ name }) => name === named);
  if (wanted.length === 0)
    return nowhere(
      `it is not on the network "${named}" that its label names`,
      `it is on ${networks.map(({ name }) => name).join(', ')}; correct the label, or connect it to ${named}`,
    );
  const usable = named === null ? wanted.filter((one) => !isRoutingMesh(one)) : wanted;
  const shared = usable.filter(({ id }) => where.addresses === 'container' || where.reach.kind !== 'networks' || where.reach.ids.has(id));
  const chosen = shared.find(({ name }) => name === where.network) ?? shared[0];
  if (usable.length === 0)
    return nowhere('it is only on the network of the routing mesh, which does not carry its requests', 'connect it to another network');
  if (!chosen) return notShared(container, where);
  return { address: socketAddress(chosen.ipv4 ?? chosen.ipv6 ?? '', port), reason: reasonFor(chosen, named, where) };
}

function reasonFor({ name }: ContainerNetwork, named: string | null, { network, reach, addresses }: AddressContext): string {
  const why = name === named ? 'named by its label' : name === network ? 'the preferred one' : 'the first by name';
  const shared =
    addresses === 'container' ? '' : reach.kind === 'networks' ? `, shared with ${reach.container}` : ', reachable from the host';
  return `its address on the network ${name} (${why})${shared}`;
}

function notShared({ name, networks }: Container, { reach }: AddressContext): AddressChoice {
  const [own, dataplane] = reach.kind === 'networks' ? [reach.names, reach.container] : [[], ''];
  return nowhere(
    `it is on ${networks.map((one) => one.name).join(', ')}, but the data plane (${dataplane}) is on ${own.join(', ') || 'no network with others'}`,
    own[0] === undefined ? `connect both to the same network` : `connect them: docker network connect ${own[0]} ${name}`,
  );
}

const isLoopback = (host: string): boolean => host.startsWith('127.') || host === '::1';
const nowhere = (reason: string, change: string): AddressChoice => ({ address: null, reason, change });
const socketAddress = (host: string, port: number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;
