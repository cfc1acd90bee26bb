import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate } from '../../shared/certificates/certificate.ts';
import { APPLIED_FOLDER, NAME } from '../../shared/name.ts';
import type { CertificateOutcome } from '../../shared/wire/apply.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import type { CertificatesFrame } from './applied/applied-certificates.ts';
import { RejectedCertificates } from './applied/rejected-certificates.ts';
import type { CertificateManager, CertificateManagerTools, CertificateStats } from './certificate-manager.ts';
import { explainPlainHttp, siteFor } from './explain-certificate.ts';
import { type RoutesChange, usesInternalIssuer } from './internal/internal-issuer.ts';
import { readRootCertificate } from './internal/root.ts';
import type { AcmeSettings } from './issue/acme/acme-client.ts';
import { describeFileError, makeReadable, makeWritable } from './store/directory-access.ts';

export type LazyCertificateManagerTools = CertificateManagerTools & { readonly certDir: string };

/** The certificate directory can't be used: the message says which, why, and what to do. */
export class CertificateDirectoryError extends Error {}

/** HTTPS from the moment at which somebody wants it: whoever serves plain HTTP needs neither a port nor a directory for it. */
export class LazyCertificateManager {
  private readonly tools: LazyCertificateManagerTools;
  private manager: CertificateManager | null = null;
  private opening: Promise<CertificateManager> | null = null;
  private acme: AcmeSettings | null = null;
  private local = false;
  private failure: string | null = null;
  private readonly rejected = new RejectedCertificates();

  constructor(tools: LazyCertificateManagerTools) {
    this.tools = tools;
  }

  /** Why sites that are to have certificates have none, or won't have for long. */
  get warnings(): string[] {
    return [
      ...(this.acme === null || this.failure === null ? [] : [this.failure]),
      ...this.rejected.warnings(),
      ...(this.manager?.warnings ?? []),
    ];
  }

  /** Shows what the certificate directory holds from now on; where there is none, nothing. */
  open(): Promise<CertificateManager> {
    this.opening ??= this.load().catch((error: unknown) => {
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  /** As `open`, where nobody waits for it: what stands in the way is logged. */
  private async openInBackground(): Promise<void> {
    await this.open().catch((error: unknown) => this.tools.log.error({ error: String(error) }, 'there is no HTTPS'));
  }

  private async load(): Promise<CertificateManager> {
    // Whoever serves plain HTTP need not hold what orders certificates in memory.
    const manager = await (await import('./certificate-manager.ts')).CertificateManager.open(this.tools.certDir, this.tools);
    this.manager = manager;
    manager.setAcme(this.acme);
    await manager.useInternalIssuer(this.local);
    await this.tools.opened();
    return manager;
  }

  /** Somebody counts on the certificate directory: it is made where it is missing. @throws CertificateDirectoryError. */
  requireDirectory(): void {
    const { certDir, log } = this.tools;
    const advice = 'name another one with --cert-dir PATH';
    try {
      makeReadable(certDir);
    } catch (error) {
      this.failure = `can't use the certificate directory ${certDir} (${describeFileError(error)}); ${advice}`;
      throw new CertificateDirectoryError(this.failure);
    }
    try {
      makeWritable(certDir);
      this.failure = null;
    } catch (error) {
      this.failure = `can't write the certificate directory ${certDir} (${describeFileError(error)}): what is in it is used, but none can be ordered or posted; ${advice}`;
      log.warn(this.failure);
    }
  }

  /** Orders that have nowhere to be kept fail in words. */
  private checkDirectory(): void {
    try {
      this.requireDirectory();
    } catch (error) {
      if (!(error instanceof CertificateDirectoryError)) throw error;
      this.tools.log.error(`${NAME}: ${error.message}`);
    }
  }

  /** Who is asked for certificates from now on; null: nobody. What stands in the way is told by `warnings` and the log. */
  async setAcme(acme: AcmeSettings | null): Promise<void> {
    if (acme !== null && this.acme === null) this.checkDirectory();
    this.acme = acme;
    if (acme !== null) await this.openInBackground();
    this.manager?.setAcme(acme);
  }

  /** Our own authority is for sites that ask for it; `local`: also for those that say nothing. */
  async useInternalIssuer(local: boolean): Promise<void> {
    this.local = local;
    if (this.manager !== null) return this.manager.useInternalIssuer(local);
    for (const site of this.tools.sites()) if (usesInternalIssuer(site, local)) return this.openInBackground();
  }

  /** PEM of what visitors of internal sites have to trust; null where there never was one. */
  internalRoot(): string | null {
    return this.manager === null ? readRootCertificate(this.tools.stateDir) : this.manager.internalRoot;
  }

  /** What there is and how orders ended, for metrics. */
  stats(): CertificateStats {
    return this.manager?.stats() ?? { shown: [], orders: [] };
  }

  list(): Promise<CertificateRecord[]> {
    return this.manager === null ? Promise.resolve([]) : this.manager.admin.list();
  }

  /** @throws CertificateDirectoryError, or the system's error. */
  async push(domains: readonly string[], pair: Certificate): Promise<CertificateRecord> {
    this.requireDirectory();
    if (this.failure !== null) throw new CertificateDirectoryError(this.failure);
    return (await this.open()).admin.push(domains, pair);
  }

  /** Keeps the certificates of a controller's frame. The port for HTTPS opens with the first of them. */
  async apply(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    const outcomes = await this.applyToStore(frame);
    this.rejected.record(frame, outcomes);
    return outcomes;
  }

  private async applyToStore(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    const { brought = [], rejected = [] } = frame.certificates ?? {};
    if (brought.length + rejected.length === 0) return [];
    const folder = join(this.tools.stateDir, APPLIED_FOLDER);
    const first = brought.length > 0 && !existsSync(folder);
    try {
      if (first) makeWritable(folder);
      const before = this.manager;
      const outcomes = await (await this.open()).applied.apply(frame);
      if (first && before !== null) await this.tools.opened();
      return outcomes;
    } catch (error) {
      const reason = `${folder} can't be used: ${describeFileError(error)}`;
      return [...brought, ...rejected].map(({ domains }) => ({ domains, result: 'rejected' as const, reason }));
    }
  }

  /** Forgets those that a controller's frame takes away. */
  async removeApplied(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    return this.manager === null ? [] : this.manager.applied.remove(frame);
  }

  remove(domain: string): Promise<string[] | null> {
    return this.manager === null ? Promise.resolve(null) : this.manager.admin.remove(domain);
  }

  retry(domain: string): Promise<readonly string[] | null> {
    return this.manager === null ? Promise.resolve(null) : this.manager.admin.retry(domain);
  }

  routesChanged(change: RoutesChange): void {
    if (this.manager !== null) return this.manager.routesChanged(change);
    const asks = (domain: string): boolean => {
      const site = this.tools.site(domain);
      return site !== null && usesInternalIssuer(site, this.local);
    };
    if (change.added.some(asks) || change.changed.some(asks)) void this.openInBackground();
  }

  /** A visitor waits for the certificate of this name. */
  prioritize(name: string): void {
    this.manager?.prioritize(name);
  }

  pause(): void {
    this.manager?.pause();
  }

  resume(): void {
    this.manager?.resume();
  }

  /** What a visitor of this host is shown, in words. */
  explain(host: string): string {
    return this.manager === null ? 'none: no e-mail is set, and there is no certificate directory' : this.manager.explain(host);
  }

  /** Why a visitor without TLS is shown none, in words. */
  explainPlainHttp(host: string): string {
    return this.manager?.explainPlainHttp(host) ?? explainPlainHttp(siteFor(host, this.tools), false, null);
  }

  stop(): void {
    this.manager?.stop();
  }
}
