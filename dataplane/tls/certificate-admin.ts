import type { Certificate } from '../../shared/certificates/certificate.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { type OrderPlan, troubleOf } from './issue/orders/order-plan.ts';
import type { StoreContents, StoredCertificate, StoreProblem } from './store/cert-store.ts';
import type { DirectoryStore } from './store/directory-store.ts';

export type CertificateAdminTools = {
  readonly store: DirectoryStore;
  /** The contents of all stores. */
  holdings(): Promise<StoreContents>;
  /** null for names that no certificate is ordered for. */
  planFor(name: string): OrderPlan | null;
  /** Retries a failed order immediately instead of waiting for its backoff. @returns false when none is waiting. */
  retry(name: string): boolean;
  /** Names that should have a certificate; those without one are listed too. */
  wanted(): Iterable<string>;
  /** Certificates of the internal authority, which are not in any store. */
  internal(): Iterable<StoredCertificate & { readonly renewAt: number }>;
  /** Resolves when every worker serves what the store holds. */
  published(): Promise<void>;
};

/** What the Admin API can do with certificates. Private keys go in, never out. */
export class CertificateAdmin {
  private readonly tools: CertificateAdminTools;

  constructor(tools: CertificateAdminTools) {
    this.tools = tools;
  }

  /** All certificates, names still without one, and unusable files, sorted by their first name. */
  async list(): Promise<CertificateRecord[]> {
    const { certificates, problems } = await this.tools.holdings();
    const ordered = new Set(certificates.filter(({ source }) => source === 'acme').flatMap(({ domains }) => domains));
    const missing = [...this.tools.wanted()].filter((name) => !ordered.has(name) && this.plan(name).last_error !== null);
    return [
      ...certificates.map((certificate) => this.record(certificate)),
      ...[...this.tools.internal()].map((certificate) => ({ ...this.record(certificate), renew_at: timeOf(certificate.renewAt) })),
      ...missing.map((name) => ({ ...NONE, domains: [name], source: 'acme' as const, ...this.plan(name) })),
      ...problems.map(unusable),
    ].sort((one, other) => compare(one.domains[0] ?? '', other.domains[0] ?? '') || compare(one.source, other.source));
  }

  /**
   * Stores a pair that covers these domains (lower case). Resolves when it is on disk and every worker serves it. @throws the system's
   * error.
   */
  async push(domains: readonly string[], pair: Certificate): Promise<CertificateRecord> {
    const stored = await this.tools.store.put({ source: 'pushed', domains, pair });
    await this.tools.published();
    return this.record(stored);
  }

  /** Deletes the pushed pairs for a domain. @returns all the domains they covered; null if there were none. */
  async remove(domain: string): Promise<string[] | null> {
    const { certificates } = await this.tools.store.list();
    const pushed = certificates.filter(({ source, domains }) => source === 'pushed' && domains.includes(domain));
    if (pushed.length === 0) return null;
    for (const { id } of pushed) await this.tools.store.delete(id);
    await this.tools.published();
    return [...new Set(pushed.flatMap(({ domains }) => domains))].sort();
  }

  /** Retries a failed order for the certificate that covers this domain. @returns its names; null when no retry is pending. */
  async retry(domain: string): Promise<readonly string[] | null> {
    if (this.tools.retry(domain)) return [domain];
    const { certificates } = await this.tools.store.list();
    const held = certificates.find(({ source, domains }) => source === 'acme' && domains.includes(domain));
    const [name] = held?.domains ?? [];
    return held !== undefined && name !== undefined && this.tools.retry(name) ? held.domains : null;
  }

  private record({ domains, source, owner, issuer, serial, notBefore, notAfter }: StoredCertificate): CertificateRecord {
    const [name] = domains;
    return {
      domains: [...domains],
      source,
      ...(owner && { controller: owner.controller }),
      issuer,
      serial,
      not_before: timeOf(notBefore),
      not_after: timeOf(notAfter),
      ...(source === 'acme' && name !== undefined ? this.plan(name) : UNPLANNED),
    };
  }

  private plan(name: string): typeof UNPLANNED {
    const plan = this.tools.planFor(name);
    if (plan === null) return UNPLANNED;
    const { renewAt, attempt } = plan;
    return { renew_at: timeOf(renewAt), last_error: troubleOf(plan), next_try: timeOf(attempt?.nextTry ?? null) };
  }
}

type Planned = Pick<CertificateRecord, 'renew_at' | 'last_error' | 'next_try'>;
const UNPLANNED: Planned = { renew_at: null, last_error: null, next_try: null };
const NONE = { issuer: null, serial: null, not_before: null, not_after: null };

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);
const unusable = ({ source, reason }: StoreProblem): CertificateRecord => ({
  ...NONE,
  ...UNPLANNED,
  domains: [],
  source,
  last_error: reason,
});
