import { MAX_BLOCKS } from '../../../../shared/limits.ts';
import type { RouteDraft } from '../../../../shared/route.ts';
import type { Domain } from '../../../../shared/values/host.ts';
import { MAX_LINE_BYTES } from '../../../../shared/wire/apply.ts';
import type { UndatedProblem } from '../../source.ts';
import type { Backend } from '../backends/backends.ts';
import { nameOf } from '../objects/meta.ts';
import { originOf, problemOf } from '../objects/owner.ts';
import type { PathClaim } from './claim.ts';

/** How large the claims of a host may be together, so that its route with all defaults fits into a line of a frame (bytes). */
const MAX_HOST_SIZE = 0.7 * MAX_LINE_BYTES;
/** How large the annotations of one object may be in all of its claims together (bytes). */
const MAX_OBJECT_SIZE = MAX_LINE_BYTES;
/** Room for the other members of a block. */
const BLOCK_SIZE = 400;

type Owners = ReadonlyMap<string, ReadonlySet<string>>;
type Host = { readonly paths: Map<string, PathClaim>; size: number };

/** The claims of each host by their path. Objects of different namespaces share hosts, so none can take more room than a route has. */
export class HostClaims {
  private readonly hosts = new Map<Domain, Host>();
  /** The size of the annotations that each object has in its claims, by uid. */
  private readonly repeated = new Map<string, number>();
  /** Those of hosts that have been asked for, which is done once all have joined. */
  private readonly owners = new Map<string, Owners>();
  private readonly ofGateways: { has(host: string): boolean };
  /** One of each Ingress with a setting for HTTPS of a host, by host and uid. */
  private readonly secured = new Map<Domain, Map<string, PathClaim>>();

  /** `ofGateways`: the hosts that Gateways serve too, which take up to half of the room. */
  constructor(ofGateways: { has(host: string): boolean }) {
    this.ofGateways = ofGateways;
  }

  names(): Iterable<Domain> {
    return this.hosts.keys();
  }

  /** Those of the oldest object first. */
  of(host: Domain): PathClaim[] {
    return [...(this.hosts.get(host)?.paths.values() ?? [])];
  }

  /**
   * Those of accepted objects with a setting for HTTPS of a host: first those with paths, the oldest first, then others. HTTPS is a setting of
   * the host, so an Ingress whose paths older objects have counts too, unlike a Service, which has it by default.
   */
  securing(host: Domain): PathClaim[] {
    const served = this.of(host).filter(({ https }) => https.kind !== 'off');
    return [...served, ...(this.secured.get(host)?.values() ?? [])];
  }

  /** The objects with paths of any of these hosts: their uids by name. Many objects may have the same hosts. */
  ownersOf(hosts: readonly Domain[]): Owners {
    const key = hosts.join();
    const before = this.owners.get(key);
    if (before !== undefined) return before;
    const found = new Map<string, Set<string>>();
    for (const host of hosts)
      for (const { owner } of this.hosts.get(host)?.paths.values() ?? []) {
        const name = nameOf(owner.meta);
        const uids = found.get(name);
        if (uids) uids.add(owner.meta.uid);
        else found.set(name, new Set([owner.meta.uid]));
      }
    this.owners.set(key, found);
    return found;
  }

  /** @returns the problem if an older object has the path already, or the host has no room for it. */
  join(claim: PathClaim): UndatedProblem | null {
    const { owner, host, path } = claim;
    if (claim.https.kind !== 'off' && owner.kind === 'ingress') this.secure(claim);
    const known = this.hosts.get(host) ?? { paths: new Map<string, PathClaim>(), size: 0 };
    const key = path.kind === 'default' ? path.kind : `${path.kind} ${path.path}`;
    const what = `${host}: ${path.kind === 'default' ? 'the default backend' : path.path}`;
    const taken = known.paths.get(key);
    if (taken) {
      const isTwice = taken.owner.meta.uid === owner.meta.uid;
      const whose = isTwice ? 'named twice by this object; the first one holds' : `taken by ${originOf(taken.owner)}, which is older`;
      return problemOf(owner, host, 'path_taken', `${what} is ${whose}`);
    }
    const size = sizeOf(claim);
    const share = this.ofGateways.has(host) ? 0.5 : 1;
    if (known.paths.size >= share * MAX_BLOCKS || known.size + size > share * MAX_HOST_SIZE)
      return problemOf(owner, host, 'path_taken', `${what} has no room left: the paths of the host are too many, or too large together`);
    const repeated = (this.repeated.get(owner.meta.uid) ?? 0) + bytesOf(claim.members);
    if (repeated > MAX_OBJECT_SIZE)
      return problemOf(owner, host, 'path_taken', `${what} has no room left: the annotations are too long for so many paths`);
    this.repeated.set(owner.meta.uid, repeated);
    known.paths.set(key, claim);
    known.size += size;
    this.hosts.set(host, known);
    return null;
  }

  private secure(claim: PathClaim): void {
    const { owner, host } = claim;
    const known = this.secured.get(host) ?? new Map<string, PathClaim>();
    if (!known.has(owner.meta.uid)) known.set(owner.meta.uid, claim);
    this.secured.set(host, known);
  }
}

const sizes = new WeakMap<RouteDraft | Backend['upstreams'], number>();

/** The approximate size of a claim's block (bytes). */
function sizeOf({ path, members, backend: { upstreams } }: PathClaim): number {
  return BLOCK_SIZE + (path.kind === 'default' ? 0 : 2 * Buffer.byteLength(path.path)) + bytesOf(members) + bytesOf(upstreams);
}

function bytesOf(value: RouteDraft | Backend['upstreams']): number {
  const known = sizes.get(value);
  if (known !== undefined) return known;
  const size = Buffer.byteLength(JSON.stringify(value));
  sizes.set(value, size);
  return size;
}
