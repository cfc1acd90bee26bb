import type { ListedContainer } from '../engine/container-summary.ts';

/**
 * Which networks a data plane can reach containers on: those of the container that it runs in, or all of the
 * host's when it runs on the host. `unknown` while none has said which addresses it has.
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

type Home = Extract<Reach, { kind: 'networks' }>;
type Place = {
  readonly addresses: ReadonlySet<string>;
  /** Not looked for yet since it spoke: it may be another one than before. */
  isNew: boolean;
  /** null is on the host; undefined is not known yet. */
  home: Home | null | undefined;
};

/**
 * Where each data plane runs. One that has the address of a container runs in it; one that has none of them runs on
 * the host. While it is being replaced it is taken to be where it was: its old address may be another container's by now.
 */
export class Whereabouts {
  private readonly places = new Map<string, Place>();

  /** A data plane opened its stream and named the addresses of its interfaces. The next list tells whose they are. */
  heard(dataplane: string, addresses: readonly string[]): void {
    this.places.set(dataplane, { addresses: new Set(addresses), isNew: true, home: this.places.get(dataplane)?.home });
  }

  /** The engine listed all containers. */
  listed(containers: readonly ListedContainer[]): void {
    for (const place of this.places.values()) settle(place, containers);
  }

  /** Of several data planes all get the same routes, so that only what every one of them reaches counts. */
  reach(): Reach {
    let reach: Reach = { kind: 'unknown' };
    for (const { home } of this.places.values()) {
      if (home === undefined) continue;
      reach = reach.kind === 'networks' ? (home ? common(reach, home) : reach) : (home ?? { kind: 'host' });
    }
    return reach;
  }
}

function settle(place: Place, containers: readonly ListedContainer[]): void {
  const { addresses, isNew, home } = place;
  place.isNew = false;
  if (home && !isNew) {
    // It stays at home when its address changes, and is nowhere else while its home is replaced.
    const known = containers.find(({ id }) => home.homes.has(id));
    place.home = (known && homeIn(known)) ?? home;
    return;
  }
  const found = containers.find(({ networks }) => networks.some((network) => network.addresses.some((one) => addresses.has(one))));
  place.home = (found && homeIn(found)) ?? null;
}

/** @returns undefined for a container that has no address anywhere: it does not run. */
function homeIn({ id, name, networks }: ListedContainer): Home | undefined {
  const joined = networks.filter(({ addresses }) => addresses.length > 0);
  if (joined.length === 0) return undefined;
  return {
    kind: 'networks',
    ids: new Set(joined.map((network) => network.id)),
    names: joined.map((network) => network.name).sort(),
    homes: new Set([id]),
    container: name,
  };
}

function common(a: Home, b: Home): Home {
  return {
    kind: 'networks',
    ids: new Set([...a.ids].filter((id) => b.ids.has(id))),
    names: a.names.filter((name) => b.names.includes(name)),
    homes: new Set([...a.homes, ...b.homes]),
    container: `${a.container}, ${b.container}`,
  };
}
