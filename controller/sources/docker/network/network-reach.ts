import type { ContainerSummary } from '../engine/container-summary.ts';

/**
 * Which networks a data plane can reach containers on: those of the container that it runs in, or all of the
 * host's when it runs on the host. `unknown` while none has said which addresses it has.
 */
export type NetworkReach =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'host' }
  | {
      readonly kind: 'networks';
      /** By id. */
      readonly ids: ReadonlySet<string>;
      /** The same for people, sorted. */
      readonly names: readonly string[];
      /** The data plane's own containers, by id, and their names for people. */
      readonly dataplanes: ReadonlySet<string>;
      readonly container: string;
    };

type Attached = Extract<NetworkReach, { kind: 'networks' }>;
type Location = {
  readonly addresses: ReadonlySet<string>;
  /** not located yet since it spoke: it may be another one than before. */
  isNew: boolean;
  /** null is on the host; undefined is not known yet. */
  attached: Attached | null | undefined;
};

/**
 * Where each data plane runs. One that has the address of a container runs in it; one that has none of them runs on
 * the host. While it is being replaced it is taken to be where it was: its old address may be another container's by now.
 */
export class DataplaneNetworks {
  private readonly locations = new Map<string, Location>();

  /** A data plane opened its stream and named the addresses of its interfaces. The next list tells whose they are. */
  reported(dataplane: string, addresses: readonly string[]): void {
    this.locations.set(dataplane, { addresses: new Set(addresses), isNew: true, attached: this.locations.get(dataplane)?.attached });
  }

  /** The engine listed all containers. */
  locate(containers: readonly ContainerSummary[]): void {
    for (const location of this.locations.values()) relocate(location, containers);
  }

  /** Of several data planes all get the same routes, so that only what every one of them reaches counts. */
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
    // It stays where it was when its address changes, and is nowhere else while its container is replaced.
    const known = containers.find(({ id }) => attached.dataplanes.has(id));
    location.attached = (known && attachedAs(known)) ?? attached;
    return;
  }
  const found = containers.find(({ networks }) => networks.some((network) => network.addresses.some((one) => addresses.has(one))));
  location.attached = (found && attachedAs(found)) ?? null;
}

/** @returns undefined for a container that has no address anywhere: it does not run. */
function attachedAs({ id, name, networks }: ContainerSummary): Attached | undefined {
  const joined = networks.filter(({ addresses }) => addresses.length > 0);
  if (joined.length === 0) return undefined;
  return {
    kind: 'networks',
    ids: new Set(joined.map((network) => network.id)),
    names: joined.map((network) => network.name).sort(),
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
