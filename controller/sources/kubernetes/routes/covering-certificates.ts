import { covers } from '../../../../shared/certificates/certificate-names.ts';
import { CATCH_ALL, type Domain, wildcardOf } from '../../../../shared/values/host.ts';
import type { BoundListener } from '../gateway/listeners.ts';
import { isOlder, isOlderForeign, type Meta } from '../objects/meta.ts';
import type { TlsSecret } from '../objects/secret.ts';
import { usableCertificate } from '../objects/secret-certificate.ts';
import type { PathClaim, Request } from './claim.ts';

/** A certificate of an object for several hosts. */
type Covering = {
  /** The object that defines it. */
  readonly meta: Meta;
  /** The oldest object of the host. */
  readonly since: Meta;
  /** The namespace of its Secret; null if it is ordered. */
  readonly namespace: string | null;
  /** The names in it; null if they are not known yet. */
  readonly names: readonly string[] | null;
};

/** The certificates of Ingresses for wildcards and for every host, which are presented for hosts that have none of their own. */
export class CoveringCertificates {
  private readonly byHost: ReadonlyMap<Domain, Covering>;
  /** The wildcards for which that of every host is not presented, because an older host of another namespace is below. */
  private readonly withheld: ReadonlySet<string | undefined>;

  /** `requests` has the oldest first. */
  constructor(requests: readonly Request[], secrets: ReadonlyMap<string, TlsSecret>, listeners: readonly BoundListener[]) {
    const accepted = requests.flatMap((one) => (one.isRefused ? [] : one.claims));
    const ending = listeners.filter(isEnding);
    const named = Map.groupBy(ending, ({ listener }) => listener.hostname ?? CATCH_ALL);
    this.byHost = new Map(
      [
        ...Map.groupBy(
          accepted.filter(({ host }) => host.startsWith('*')),
          ({ host }) => host,
        ),
      ].flatMap(([host, some]): [Domain, Covering][] => {
        const found = coveringOf(some, secrets, named.get(host) ?? []);
        return found === null ? [] : [[host, found]];
      }),
    );
    const forAll = this.byHost.get(CATCH_ALL);
    const isBefore = (meta: Meta): boolean =>
      forAll !== undefined && meta.namespace !== forAll.namespace && isOlder({ meta }, { meta: forAll.since });
    this.withheld = new Set([
      ...accepted.flatMap(({ host, owner }) => (isBefore(owner.meta) ? [wildcardOf(host)] : [])),
      ...ending.flatMap(({ listener, owner }) =>
        listener.hostname !== null && isBefore(owner.meta) ? [wildcardOf(listener.hostname as Domain)] : [],
      ),
    ]);
  }

  /** The objects whose certificates are presented for a host that belongs to an object of a namespace. */
  of(host: Domain, namespace: string): readonly Meta[] {
    const wildcard = wildcardOf(host) as Domain | undefined;
    const overIt = wildcard === undefined || wildcard === host ? undefined : this.byHost.get(wildcard);
    const forAll = this.byHost.get(CATCH_ALL);
    const isForAll =
      this.isCovered(host, namespace) || (wildcard !== undefined && forAll?.names?.includes(wildcard) && !this.withheld.has(wildcard));
    return [overIt, isForAll ? forAll : undefined].flatMap((one) => one?.meta ?? []);
  }

  /** Whether the Secret for every host is presented for one, and belongs to this namespace. */
  isCovered(host: Domain, namespace: string): boolean {
    const forAll = this.byHost.get(CATCH_ALL);
    return forAll?.namespace === namespace && forAll.names !== null && covers(forAll.names, host);
  }
}

const isEnding = ({ isServed, listener }: BoundListener): boolean => isServed && listener.protocol !== 'TLS';

/** `named`: the listeners for the same host. */
function coveringOf(
  claims: readonly PathClaim[],
  secrets: ReadonlyMap<string, TlsSecret>,
  named: readonly BoundListener[],
): Covering | null {
  const [first] = claims;
  if (first === undefined) return null;
  const { namespace } = first.owner.meta;
  // Then its Gateway owns the host, and the certificate is not presented.
  if (named.some(({ owner }) => isOlderForeign(owner, first.owner))) return null;
  const pathOf = ({ path }: PathClaim): string => (path.kind === 'default' ? '' : `${path.kind} ${path.path}`);
  const served = [...Map.groupBy(claims, pathOf).values()].flatMap(([oldest]) => oldest ?? []);
  // HTTPS is a setting of the host, so an Ingress without a path of its own counts, too, after those with one.
  const deciding = [...served, ...claims.filter(({ owner }) => owner.kind === 'ingress')];
  const found = deciding.find(({ owner, https }) => owner.meta.namespace === namespace && https.kind !== 'off');
  if (found === undefined) return null;
  const about = { meta: found.owner.meta, since: first.owner.meta };
  if (found.https.kind !== 'secret') return { ...about, namespace: null, names: null };
  const secret = secrets.get(`${found.https.namespace}/${found.https.secret}`);
  const certificate = secret === undefined ? null : usableCertificate(secret);
  if (certificate === null) return null;
  const { domains } = certificate;
  const isForHost = first.host === CATCH_ALL || covers(domains, first.host);
  return isForHost ? { ...about, namespace: secret?.meta.namespace ?? null, names: domains } : null;
}
