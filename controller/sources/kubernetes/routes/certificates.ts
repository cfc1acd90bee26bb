import type { Certificate } from '../../../../shared/certificates/certificate.ts';
import { covers } from '../../../../shared/certificates/certificate-names.ts';
import { type DefaultPlace, defaultNameOf } from '../../../../shared/certificates/default-certificate.ts';
import { CATCH_ALL, parseDomain, wildcardOf } from '../../../../shared/values/host.ts';
import type { SourceCertificate } from '../../source.ts';
import { coveringNames } from '../gateway/hosts/hostnames.ts';
import { isOlder, isOlderForeign, type Meta } from '../objects/meta.ts';
import type { TlsSecret } from '../objects/secret.ts';
import { faultOfSecret, usableCertificate } from '../objects/secret-certificate.ts';

/** The maximum number of names in a line; more are split into several. */
const MAX_NAMES = 100;

/** The certificates of Secrets, and which hosts use them. */
export class SecretCertificates {
  private readonly secrets: ReadonlyMap<string, TlsSecret>;
  private readonly hosts = new Map<string, string[]>();
  private readonly presented = new Set<string>();
  private readonly defaults: { readonly secret: string; readonly name: string }[] = [];

  constructor(secrets: ReadonlyMap<string, TlsSecret>) {
    this.secrets = secrets;
  }

  /** Uses a Secret for a host. @returns why it can't be used; null if it can. */
  use(secret: string, host: string): string | null {
    const found = this.secrets.get(secret);
    if (found === undefined) return `the TLS Secret ${secret} does not exist (its type must be kubernetes.io/tls)`;
    const certificate = usableCertificate(found);
    if (certificate === null || (host !== CATCH_ALL && !covers(certificate.domains, host))) {
      const why = faultOfSecret(found);
      if (why !== null) return `the Secret ${secret}: ${why}`;
      return `the certificate of the Secret ${secret} is for ${certificate?.domains.slice(0, 5).join(', ')}, not for ${host}`;
    }
    this.note(secret, host);
    return null;
  }

  /** Why an earlier version of a Secret is presented instead of its newest one; null if that is not the case. */
  whyEarlier(secret: string): string | null {
    const found = this.secrets.get(secret);
    const fault = found?.lastGood && faultOfSecret(found);
    return fault ? `the Secret ${secret}: ${fault}` : null;
  }

  /** Presents one of the Secrets of a listener for a host: the first one that covers it. @returns whether one can be. */
  presentCovering(secrets: readonly string[], host: string): boolean {
    return this.presentFirst(
      secrets.filter((secret) => covers(this.read(secret)?.domains ?? [], host)),
      host,
    );
  }

  /** The same for the first one, regardless of its names. */
  presentFirst(secrets: readonly string[], host: string): boolean {
    const secret = secrets.find((one) => this.read(one) !== null);
    if (secret === undefined) return false;
    this.note(secret, host);
    return true;
  }

  /** Whether one is presented for a host or wildcard so far. */
  isPresented(host: string): boolean {
    return this.presented.has(host);
  }

  /** Presents a Secret at a place for all names that have no other. */
  presentDefault(secret: string, place: DefaultPlace): void {
    this.defaults.push({ secret, name: defaultNameOf(place) });
  }

  private note(secret: string, host: string): void {
    this.presented.add(host);
    const hosts = this.hosts.get(secret);
    if (hosts) hosts.push(host);
    else this.hosts.set(secret, [host]);
  }

  /**
   * A certificate for the catch-all host is presented for its own names, except those of hosts that belong to other namespaces, or have one
   * of their own. `owners` are the objects that all hosts belong to, `isDeep` says which wildcards stand for more than one label.
   */
  list(owners: ReadonlyMap<string, Meta>, isDeep: (wildcard: string) => boolean): SourceCertificate[] {
    const namesFor = freeNames(owners, isDeep);
    const taken = new Set([...this.hosts.values()].flat());
    const named = [...this.hosts].flatMap(([secret, hosts]) => {
      const certificate = this.read(secret);
      if (certificate === null) return [];
      const free = hosts.includes(CATCH_ALL) ? certificate.domains.flatMap((name) => namesFor(secret, name)) : [];
      const own = hosts.filter((host) => host !== CATCH_ALL);
      const domains = [...new Set([...own, ...free.filter((name) => !taken.has(name))])].sort();
      // A data plane refuses a line as a whole if the certificate is not for all of its names, such as that of a listener that was just added.
      const [bare = [], covered = []] = [false, true].map((isFor) => domains.filter((name) => covers(certificate.domains, name) === isFor));
      return [...linesOf(certificate, covered), ...linesOf(certificate, bare)];
    });
    const defaults = this.defaults.flatMap(({ secret, name }) => {
      const certificate = this.read(secret);
      return certificate === null ? [] : [lineOf(certificate, [name])];
    });
    return [...named, ...defaults].sort((a, b) => ((a.domains[0] ?? '') < (b.domains[0] ?? '') ? -1 : 1));
  }

  private read(secret: string): Certificate | null {
    const found = this.secrets.get(secret);
    return found === undefined ? null : usableCertificate(found);
  }
}

/**
 * For which names a Secret is presented because of a name that it contains, although no object has requested that: that name, unless it
 * belongs to another namespace. A wildcard is presented unless a host of another namespace below it is older than the object for every
 * host: a younger one would take HTTPS from all others. Where it is not presented, the hosts below it of the Secret's own namespace remain.
 */
function freeNames(
  owners: ReadonlyMap<string, Meta>,
  isDeep: (wildcard: string) => boolean,
): (secret: string, name: string) => readonly string[] {
  const byWildcard = Map.groupBy(owners, ([host]) => wildcardOf(host));
  const forAll = owners.get(CATCH_ALL);
  return (secret, name) => {
    if (!parseDomain(name).ok) return [];
    const isOwn = ({ namespace }: Meta): boolean => secret.startsWith(`${namespace}/`);
    const isBefore = (meta: Meta): boolean => forAll === undefined || isOlder({ meta }, { meta: forAll });
    const isServedBy = (one: string): boolean => one === name || one === wildcardOf(name) || isDeep(one);
    const owner = coveringNames(name).flatMap((one) => (one !== null && isServedBy(one) ? (owners.get(one) ?? []) : []))[0];
    const under = name.startsWith('*.') ? (byWildcard.get(name) ?? []).filter(([host]) => host !== name) : [];
    const isForeign = owner !== undefined && !isOwn(owner);
    const isFree = under.every(([, one]) => isOwn(one) || !isBefore(one)) && !(isForeign && isBefore(owner));
    if (isFree && !isForeign) return [name];
    // Hosts that had it keep it below the wildcard of a younger object.
    const hadIt = (meta: Meta): boolean => isFree && isForeign && isOlderForeign({ meta }, { meta: owner });
    return under.flatMap(([host, one]) => (isOwn(one) || hadIt(one) ? [host] : []));
  };
}

const linesOf = (certificate: Certificate, domains: readonly string[]): SourceCertificate[] =>
  Array.from({ length: Math.ceil(domains.length / MAX_NAMES) }, (_, at) =>
    lineOf(certificate, domains.slice(at * MAX_NAMES, (at + 1) * MAX_NAMES)),
  );

const lineOf = ({ chain, privateKey }: Certificate, domains: readonly string[]): SourceCertificate => ({
  domains,
  certificate: chain,
  private_key: privateKey,
});
