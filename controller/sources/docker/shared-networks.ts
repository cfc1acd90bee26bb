import type { ListedContainer } from './listed-container.ts';

/**
 * Which networks a data plane can reach containers on: those of the container that it runs in, or all of the
 * host's when it runs on the host. `unknown` while it has not said which addresses it has.
 */
export type Reach =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'host' }
  | {
      readonly kind: 'networks';
      /** By id. */
      readonly ids: ReadonlySet<string>;
      /** The same for people, sorted. */
      readonly names: readonly string[];
      /** The data plane's own containers, by id, and their names for people. */
      readonly homes: ReadonlySet<string>;
      readonly container: string;
    };

/**
 * A data plane that has the address of a container runs in it; one that has none of them runs on the host.
 * Of several data planes all get the same routes, so that only what every one of them reaches counts.
 */
export function sharedNetworks(dataplanes: ReadonlyMap<string, readonly string[]>, containers: readonly ListedContainer[]): Reach {
  if (dataplanes.size === 0) return { kind: 'unknown' };
  let reach: Reach = { kind: 'host' };
  for (const addresses of dataplanes.values()) reach = narrower(reach, reachOf(addresses, containers));
  return reach;
}

function reachOf(addresses: readonly string[], containers: readonly ListedContainer[]): Reach {
  const own = new Set(addresses);
  const home = containers.find(({ networks }) => networks.some((network) => network.addresses.some((address) => own.has(address))));
  if (!home) return { kind: 'host' };
  const networks = home.networks.filter((network) => network.addresses.length > 0);
  return {
    kind: 'networks',
    ids: new Set(networks.map(({ id }) => id)),
    names: networks.map(({ name }) => name).sort(),
    homes: new Set([home.id]),
    container: home.name,
  };
}

function narrower(a: Reach, b: Reach): Reach {
  if (a.kind !== 'networks') return b;
  if (b.kind !== 'networks') return a;
  return {
    kind: 'networks',
    ids: new Set([...a.ids].filter((id) => b.ids.has(id))),
    names: a.names.filter((name) => b.names.includes(name)),
    homes: new Set([...a.homes, ...b.homes]),
    container: `${a.container}, ${b.container}`,
  };
}
