import type { UndatedReading } from '../../transition-times.ts';
import { nameOf } from '../objects/meta.ts';
import { KUBERNETES_SOURCE, type Owner, originOf } from '../objects/owner.ts';
import type { PathClaim, Request } from './claim.ts';
import type { HostClaims } from './host-claims.ts';

const MAX_NAMED = 10;
/** Problems that are mistakes in the object itself. */
const MISTAKES: ReadonlySet<string> = new Set(['bad_host', 'bad_path', 'bad_route']);

/** The state of an object that requests hosts. */
export function readingOf({ owner, claims, problems, reasons, hosts }: Request, all: HostClaims): UndatedReading {
  const wrong = [...reasons, ...problems.filter(({ code }) => MISTAKES.has(code)).map(({ message }) => message)];
  const unresolved = [...new Set(claims.flatMap(({ backend }) => backend.reason ?? []))];
  const addresses = new Set(claims.flatMap(({ backend }) => backend.upstreams.map(({ address }) => address)));
  const [address = null] = addresses;
  const isResolved = claims.length > 0 && unresolved.length === 0;
  const none = wrong.length > 0 ? 'it is not valid' : 'it requests no path of a host';
  const accepted = { holds: wrong.length === 0, reason: wrong.length === 0 ? 'it is valid' : wrong.join('; ') };
  const resolved = {
    holds: isResolved,
    reason: isResolved ? 'each of its services has an endpoint that is ready' : unresolved.length > 0 ? unresolved.join('; ') : none,
  };
  return {
    source: KUBERNETES_SOURCE,
    kind: owner.kind,
    id: owner.meta.uid,
    name: nameOf(owner.meta),
    origin: originOf(owner),
    section: null,
    domains: hosts,
    peers: peersOf(owner, claims, all),
    accepted,
    resolved,
    address: addresses.size === 1 ? address : null,
    change: !accepted.holds ? 'correct the object and apply it again' : isResolved ? null : changeOf(claims),
  };
}

/** What would give each path a target. */
function changeOf(claims: readonly PathClaim[]): string {
  if (claims.length === 0) return 'add a path to one of its rules, or a default backend';
  const isMissing = claims.some(({ backend }) => backend.isMissing);
  return isMissing ? 'create what it refers to, or correct the object and apply it again' : 'make a pod of the service ready';
}

/** Other objects with paths of the same hosts. */
function peersOf({ meta }: Owner, claims: readonly PathClaim[], all: HostClaims): UndatedReading['peers'] {
  const owners = all.ownersOf([...new Set(claims.map(({ host }) => host))]);
  const own = nameOf(meta);
  const isOnlyOwn = (name: string): boolean => name === own && owners.get(own)?.size === 1 && owners.get(own)?.has(meta.uid) === true;
  const names: string[] = [];
  for (const name of owners.keys()) {
    if (names.length === MAX_NAMED) break;
    if (!isOnlyOwn(name)) names.push(name);
  }
  return { count: owners.size - Number(isOnlyOwn(own)), names };
}
