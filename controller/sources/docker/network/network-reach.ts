import type { ContainerSummary } from '../engine/container-summary.ts';
import { isRoutingMesh } from './routing-mesh.ts';

/**
 * The networks on which a data plane can reach containers: those of its own container, or all of the host's if it runs on the host.
 * `unknown` until a data plane has reported its addresses.
 */
export type NetworkReach =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'host' }
  | {
      readonly kind: 'networks';
      /** By id. */
      readonly ids: ReadonlySet<string>;
      /** The same for display, sorted. */
      readonly names: readonly string[];
      /** The data planes' own containers by id, and their names for display. */
      readonly dataplanes: ReadonlySet<string>;
      readonly container: string;
    };

type Attached = Extract<NetworkReach, { kind: 'networks' }>;
type Location = {
  readonly addresses: ReadonlySet<string>;
  /** Whether it must be located again since it connected, because it may be a different one. */
  isNew: boolean;
  /** null: on the host; undefined: not known yet. */
  attached: Attached | null | undefined;
};

/**
 * Where each data plane runs. One with the address of a container runs in that container, any other one on the host. While it is being
 * replaced it keeps its location, since its old address may already belong to another container.
 */
export class DataplaneNetworks {
  private readonly locations = new Map<string, Location>();

  /** A data plane opened its stream and reported the addresses of its interfaces. The next list shows which containers have them. */
  reported(dataplane: string, addresses: readonly string[]): void {
    this.locations.set(dataplane, { addresses: new Set(addresses), isNew: true, attached: this.locations.get(dataplane)?.attached });
  }

  /** The engine listed all containers. */
  locate(containers: readonly ContainerSummary[]): void {
    for (const location of this.locations.values()) relocate(location, containers);
  }

  /** All data planes get the same routes, so only networks that every one of them reaches count. */
  reach(): NetworkReach {
    let reach: NetworkReach = { kind: 'unknown' };
    for (const { attached } of this.locations.values()) {
      if (attached === undefined) continue;
      reach = reach.kind === 'networks' ? (attached ? common(reach, attached) : reach) : (attached ?? { kind: 'host' });
    }
    return reach;
  }
}

function relocate(location: Location, containers: readonly ContainerSummary[]): void {
  const { addresses, isNew, attached } = location;
  location.isNew = false;
  if (attached && !isNew) {
    // It keeps its location if its address changes, and has none while its container is replaced.
    const known = containers.find(({ id }) => attached.dataplanes.has(id));
    location.attached = (known && attachedAs(known)) ?? attached;
    return;
  }
  const found = containers.find(({ networks }) => networks.some((network) => network.addresses.some((one) => addresses.has(one))));
  location.attached = (found && attachedAs(found)) ?? null;
}

/** @returns undefined for a container without an address, which is not running. */
function attachedAs({ id, name, networks }: ContainerSummary): Attached | undefined {
  const joined = networks.filter(({ addresses }) => addresses.length > 0);
  if (joined.length === 0) return undefined;
  const shared = joined.filter((network) => !isRoutingMesh(network));
  return {
    kind: 'networks',
    ids: new Set(shared.map((network) => network.id)),
    names: shared.map((network) => network.name).sort(),
    dataplanes: new Set([id]),
    container: name,
  };
}

function common(a: Attached, b: Attached): Attached {
  return {
    kind: 'networks',
    ids: new Set([...a.ids].filter((id) => b.ids.has(id))),
    names: a.names.filter((name) => b.names.includes(name)),
    dataplanes: new Set([...a.dataplanes, ...b.dataplanes]),
    container: `${a.container}, ${b.container}`,
  };
}
