import type { StoredCertificate } from '../store/cert-store.ts';

/** The certificates that controllers have applied, found by their domains: a frame may have thousands. */
export class HeldCertificates {
  private readonly byKey = new Map<string, StoredCertificate>();
  private readonly byDomain = new Map<string, Set<StoredCertificate>>();

  constructor(all: Iterable<StoredCertificate>) {
    for (const one of all) this.add(one);
  }

  /** The one for exactly these domains; null if there is none. */
  exactly(domains: readonly string[]): StoredCertificate | null {
    return this.byKey.get(keyOf(domains)) ?? null;
  }

  /** One of another controller that has any of these domains; null if there is none. */
  ofOthers(domains: readonly string[], controller: string): StoredCertificate | null {
    for (const domain of domains) for (const one of this.byDomain.get(domain) ?? []) if (!isOwnedBy(one.owner, controller)) return one;
    return null;
  }

  /** `stored` takes the place of the one for the same domains. */
  replace(stored: StoredCertificate): void {
    const before = this.exactly(stored.domains);
    if (before !== null) for (const domain of before.domains) this.byDomain.get(domain)?.delete(before);
    this.add(stored);
  }

  private add(one: StoredCertificate): void {
    this.byKey.set(keyOf(one.domains), one);
    for (const domain of one.domains) {
      const others = this.byDomain.get(domain);
      if (others === undefined) this.byDomain.set(domain, new Set([one]));
      else others.add(one);
    }
  }
}

/** Equal for the same domains in any order. */
export const keyOf = (domains: readonly string[]): string => [...new Set(domains)].sort().join();

/** A certificate without a known owner may be replaced by any controller. */
export const isOwnedBy = (owner: StoredCertificate['owner'], controller: string): boolean =>
  owner === undefined || owner.controller === controller;
