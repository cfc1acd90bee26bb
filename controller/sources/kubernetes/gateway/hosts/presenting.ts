import { covers } from '../../../../../shared/certificates/certificate-names.ts';
import { DEFAULT_HTTPS_PORT } from '../../../../../shared/settings.ts';
import { isOlder, isOlderForeign, oldestOf } from '../../objects/meta.ts';
import type { BoundListener } from '../listeners.ts';
import type { HostOwner } from './host-owners.ts';
import type { HostRules } from './host-rules.ts';
import type { Hostname } from './hostnames.ts';

/** Which certificate of its listeners is presented for a host, however many ports it is served on. */
export type HostCertificate = {
  /** The listener with a host whose certificate is presented for it at all places; one of its owner's if these have any. */
  readonly presenting: BoundListener | null;
  /** Whether that is one of its owner's listeners, or these are for every host and present their default certificates. */
  readonly isOwnSecret: boolean;
  /** In the latter case, the Secrets of the usual one. */
  readonly ownDefaults: readonly string[];
  /** The listeners whose own Secrets are therefore not presented. */
  readonly unpresented: readonly BoundListener[];
};

/**
 * `listeners`: those that serve the host, or what is over it, first those of its owner. `deciding`: the same without those that are younger
 * than the other objects of the host, and with those from which these have taken a place.
 */
export function hostCertificate(
  name: Hostname,
  listeners: readonly BoundListener[],
  deciding: readonly BoundListener[],
  owner: HostOwner,
  rules: HostRules,
): HostCertificate {
  const own = ownersWithSecrets(name, deciding, owner);
  const usual = own === undefined ? presentingAmongOthers(name, deciding) : presentingAmong(name, own);
  const isLeft = own === undefined && (owner.hasHttps || isCertifiedByOlder(name, usual, owner, rules));
  const presenting = isLeft ? null : usual;
  // Where the owner's listeners are for every host, they present their default certificates.
  const isHidden = (bound: BoundListener): boolean =>
    presenting === null
      ? isLeft || (own !== undefined && bound.listener.hostname !== null && !own.includes(bound))
      : !bound.secrets.some((secret) => presenting.secrets.includes(secret));
  return {
    presenting,
    isOwnSecret: own !== undefined,
    ownDefaults: presenting === null ? (usualOf(own?.filter(hasSecrets) ?? [])?.secrets ?? []) : [],
    unpresented: listeners.filter((bound) => hasSecrets(bound) && isHidden(bound)),
  };
}

const hasSecrets = ({ secrets }: BoundListener): boolean => secrets.length > 0;

/** The listeners of the owner of a host if these have certificates; undefined if not. */
function ownersWithSecrets(
  name: Hostname,
  listeners: readonly BoundListener[],
  { isOwn, isBeside, isOfRoute, hasOthers }: HostOwner,
): readonly BoundListener[] | undefined {
  const owners = [isOwn, isBeside].map((isOne) => listeners.filter(isOne));
  // One for every host presents its certificate at its own port only, so that of a listener for the host comes first.
  const isNamed = (bound: BoundListener): boolean => bound.listener.hostname === name && isCertifiedFor(bound, name);
  // The owner may have listeners for HTTP only: the oldest route then comes before those who only have a listener for the host.
  const all = isOfRoute === null || hasOthers ? owners : [...owners, listeners.filter(isOfRoute)];
  return owners.find((some) => some.some(isNamed)) ?? all.find((some) => some.some(hasSecrets));
}

/**
 * Whether a host of an object of another kind already has the certificate of a listener or an object over it, which is older and of another
 * namespace than the one that would present another.
 */
function isCertifiedByOlder(name: Hostname, usual: BoundListener | null, { other, isOfOther }: HostOwner, rules: HostRules): boolean {
  if (usual === null || other === undefined || other.meta.namespace === usual.owner.meta.namespace) return false;
  if (!isOfOther && !isOlder(other, usual.owner)) return false;
  const certifying = [...rules.certifying(name, usual).map(({ owner }) => owner), ...other.covering.map((meta) => ({ meta }))];
  return certifying.some((one) => isOlderForeign(one, usual.owner));
}

/** The usual one decides, among those whose certificates are for the host. */
const presentingAmong = (name: Hostname, listeners: readonly BoundListener[]): BoundListener | null => usualOf(ableAmong(name, listeners));

/** The same if none of them belongs to the owner of the host: among those of the namespace that was there first. */
function presentingAmongOthers(name: Hostname, listeners: readonly BoundListener[]): BoundListener | null {
  const able = ableAmong(name, listeners);
  const oldest = oldestOf(able.map(({ owner }) => owner));
  return usualOf(able.filter(({ owner }) => owner.meta.namespace === oldest?.meta.namespace));
}

function ableAmong(name: Hostname, listeners: readonly BoundListener[]): readonly BoundListener[] {
  const able = listeners.filter((bound) => bound.listener.hostname !== null && hasSecrets(bound));
  const covering = able.filter((bound) => isCertifiedFor(bound, name));
  return covering.length > 0 ? covering : able;
}

/** Whether a listener with a host has a certificate that is for a name below it. */
const isCertifiedFor = ({ listener, certified }: BoundListener, name: Hostname): boolean =>
  listener.hostname !== null && name !== null && covers(certified, name);

/** That on the usual port, or else the first one. */
const usualOf = (listeners: readonly BoundListener[]): BoundListener | null =>
  listeners.find(({ listener }) => listener.port === DEFAULT_HTTPS_PORT) ?? listeners[0] ?? null;
