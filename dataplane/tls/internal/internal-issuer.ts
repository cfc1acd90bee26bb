import type { Certificate } from '../../../shared/certificates/certificate.ts';
import { issuerOf, type SiteIssuance } from '../../../shared/certificates/issuer.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { wildcardOf } from '../../../shared/values/host.ts';
import type { StoreChange, StoredCertificate } from '../store/cert-store.ts';
import { InternalAuthority, type InternalCertificate } from './internal-authority.ts';
import { readRootCertificate, rootCertificatePath } from './root.ts';
import { trustCommand } from './trust-command.ts';

/** How soon a failed opening of the authority is retried (ms). */
const RETRY_MS = 2_000;

/** Domains of added, changed and removed routes. */
export type DomainsChange = {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
};

export type InternalIssuerTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly stateDir: string;
  sites(): Iterable<SiteIssuance>;
  site(domain: string): SiteIssuance | null;
  /** Checks that the HTTPS port is open or can be opened. @throws the reason. */
  reachable(): Promise<void>;
  /** Called once the root exists: from now on internal sites are served over HTTPS. */
  opened(): Promise<void>;
  /** Called when certificates change. */
  changed(change: Pick<StoreChange, 'put' | 'removed'>): void;
};

/** Whether a site gets its certificate from the internal authority; with `local`, sites without a setting of their own do. */
export const usesInternalIssuer = (site: SiteIssuance, local: boolean): boolean =>
  issuerOf(site, { automatic: false, anyName: false, dns: false, internal: true, local }) === 'internal';

/** Issues certificates of the internal authority for the sites that use it. The authority is opened for the first of them. */
export class InternalIssuer {
  private readonly tools: InternalIssuerTools;
  private readonly names = new Set<string>();
  private local = false;
  private authority: InternalAuthority | null = null;
  private opening: Promise<void> | null = null;
  private failure: string | null = null;
  private stopped = false;

  constructor(tools: InternalIssuerTools) {
    this.tools = tools;
  }

  /** Why its sites have no certificates, or will have none that is trusted; null if all is well. */
  get warning(): string | null {
    const { failure, authority } = this;
    if (failure !== null || authority === null || !authority.isRootExpiring) return failure;
    const at = new Date(authority.rootNotAfter).toISOString();
    return `the root of the internal authority expires at ${at}; restart the data plane, which then creates a new one, and trust that instead`;
  }

  /** PEM; null if no internal certificate was ever issued. */
  get root(): string | null {
    return this.authority?.root ?? readRootCertificate(this.tools.stateDir);
  }

  /** Re-evaluates all sites. Resolves when the authority is open, if it is needed. */
  setDefault(local: boolean): Promise<void> {
    this.local = local;
    const wanted = new Set<string>();
    for (const site of this.tools.sites()) if (usesInternalIssuer(site, local)) wanted.add(site.domain);
    for (const name of this.names) if (!wanted.has(name)) this.drop(name);
    for (const name of wanted) this.add(name);
    return this.open();
  }

  routesChanged({ added, changed, removed }: DomainsChange): void {
    for (const domain of removed) this.drop(domain);
    for (const domain of [...added, ...changed]) {
      const site = this.tools.site(domain);
      if (site !== null && usesInternalIssuer(site, this.local)) this.add(domain);
      else this.drop(domain);
    }
    void this.open();
  }

  /** Issues this name, or the wildcard that covers it, before others. `name` in lower case. */
  prioritize(name: string): void {
    this.authority?.prioritize(this.names.has(name) ? name : (wildcardOf(name) ?? ''));
  }

  get(name: string): InternalCertificate | null {
    return this.authority?.get(name) ?? null;
  }

  stop(): void {
    this.stopped = true;
    this.authority?.stop();
  }

  private add(name: string): void {
    this.names.add(name);
    this.authority?.add(name);
  }

  private drop(name: string): void {
    if (this.names.delete(name)) this.authority?.drop(name);
  }

  private open(): Promise<void> {
    if (this.authority !== null || this.names.size === 0 || this.stopped) return Promise.resolve();
    this.opening ??= this.openAuthority().finally(() => {
      this.opening = null;
    });
    return this.opening;
  }

  private async openAuthority(): Promise<void> {
    const { clock, log, stateDir, reachable, opened } = this.tools;
    try {
      await reachable();
      const authority = await InternalAuthority.open(stateDir, this.tools, (name, certificate) => this.changed(name, certificate));
      if (this.stopped) return authority.stop();
      this.authority = authority;
      this.failure = null;
      const root = rootCertificatePath(stateDir);
      log.info(
        { root, trust: trustCommand(root) },
        'sites use certificates of the internal authority: browsers accept them once its root is trusted',
      );
      for (const name of this.names) authority.add(name);
      await opened();
    } catch (error) {
      const reason = `the internal authority can't work: ${error instanceof Error ? error.message : error}`;
      if (reason !== this.failure) log.error(reason);
      this.failure = reason;
      clock.after(RETRY_MS, () => void this.open());
    }
  }

  private changed(name: string, certificate: InternalCertificate | null): void {
    const id = `internal/${name}`;
    if (certificate === null) this.tools.changed({ put: [], removed: [id] });
    else this.tools.changed({ put: [toStored(id, name, certificate, this.tools.clock.now())], removed: [] });
  }
}

function toStored(id: string, name: string, certificate: Certificate, savedAt: number): StoredCertificate {
  const { issuer, serial, notBefore, notAfter } = certificate;
  return { id, source: 'internal', domains: [name], issuer, serial, notBefore, notAfter, savedAt, order: null, ariId: null };
}
