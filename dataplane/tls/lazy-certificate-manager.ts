import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate } from '../../shared/certificates/certificate.ts';
import { APPLIED_FOLDER, NAME } from '../../shared/name.ts';
import type { CertificateOutcome } from '../../shared/wire/apply.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import type { AppliedFrame } from './applied/applied-certificates.ts';
import { RefusedCertificates } from './applied/rejected-certificates.ts';
import type { CertificatesReading, Https, HttpsTools } from './certificate-manager.ts';
import { onHttp, siteFor } from './explain-certificate.ts';
import { isInternal, type RoutesChange } from './internal/internal-issuer.ts';
import { readRootCertificate } from './internal/root.ts';
import type { AuthoritySettings } from './issue/acme/acme-client.ts';
import { makeReadable, makeWritable, reasonOf } from './store/directory-access.ts';

export type OnDemandTools = HttpsTools & { readonly certDir: string };

/** The certificate directory can't be used: the message says which, why, and what to do. */
export class CertificateDirectoryError extends Error {}

/** HTTPS from the moment at which somebody wants it: whoever serves plain HTTP needs neither a port nor a directory for it. */
export class HttpsOnDemand {
  private readonly tools: OnDemandTools;
  private https: Https | null = null;
  private opening: Promise<Https> | null = null;
  private authority: AuthoritySettings | null = null;
  private local = false;
  private failure: string | null = null;
  private readonly refused = new RefusedCertificates();

  constructor(tools: OnDemandTools) {
    this.tools = tools;
  }

  /** Why sites that are to have certificates have none, or won't have for long. */
  get warnings(): string[] {
    return [
      ...(this.authority === null || this.failure === null ? [] : [this.failure]),
      ...this.refused.warnings(),
      ...(this.https?.warnings ?? []),
    ];
  }

  /** Shows what the certificate directory holds from now on; where there is none, nothing. */
  open(): Promise<Https> {
    this.opening ??= this.opened().catch((error: unknown) => {
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  /** As `open`, where nobody waits for it: what stands in the way is logged. */
  private async openSoon(): Promise<void> {
    await this.open().catch((error: unknown) => this.tools.log.error({ error: String(error) }, 'there is no HTTPS'));
  }

  private async opened(): Promise<Https> {
    // Whoever serves plain HTTP need not hold what orders certificates in memory.
    const https = await (await import('./certificate-manager.ts')).Https.open(this.tools.certDir, this.tools);
    this.https = https;
    https.adopt(this.authority);
    await https.certifyInternally(this.local);
    await this.tools.opened();
    return https;
  }

  /** Somebody counts on the certificate directory: it is made where it is missing. @throws CertificateDirectoryError. */
  requireDirectory(): void {
    const { certDir, log } = this.tools;
    const advice = 'name another one with --cert-dir PATH';
    try {
      makeReadable(certDir);
    } catch (error) {
      this.failure = `can't use the certificate directory ${certDir} (${reasonOf(error)}); ${advice}`;
      throw new CertificateDirectoryError(this.failure);
    }
    try {
      makeWritable(certDir);
      this.failure = null;
    } catch (error) {
      this.failure = `can't write the certificate directory ${certDir} (${reasonOf(error)}): what is in it is used, but none can be ordered or posted; ${advice}`;
      log.warn(this.failure);
    }
  }

  /** Orders that have nowhere to be kept fail in words. */
  private expectDirectory(): void {
    try {
      this.requireDirectory();
    } catch (error) {
      if (!(error instanceof CertificateDirectoryError)) throw error;
      this.tools.log.error(`${NAME}: ${error.message}`);
    }
  }

  /** Who is asked for certificates from now on; null: nobody. What stands in the way is told by `warnings` and the log. */
  async adopt(authority: AuthoritySettings | null): Promise<void> {
    if (authority !== null && this.authority === null) this.expectDirectory();
    this.authority = authority;
    if (authority !== null) await this.openSoon();
    this.https?.adopt(authority);
  }

  /** Our own authority is for sites that ask for it; `local`: also for those that say nothing. */
  async certifyInternally(local: boolean): Promise<void> {
    this.local = local;
    if (this.https !== null) return this.https.certifyInternally(local);
    for (const site of this.tools.sites()) if (isInternal(site, local)) return this.openSoon();
  }

  /** PEM of what visitors of internal sites have to trust; null where there never was one. */
  root(): string | null {
    return this.https === null ? readRootCertificate(this.tools.stateDir) : this.https.root;
  }

  /** What there is and how orders ended, for metrics. */
  reading(): CertificatesReading {
    return this.https?.reading() ?? { shown: [], orders: [] };
  }

  list(): Promise<CertificateRecord[]> {
    return this.https === null ? Promise.resolve([]) : this.https.desk.list();
  }

  /** @throws CertificateDirectoryError, or the system's error. */
  async push(domains: readonly string[], pair: Certificate): Promise<CertificateRecord> {
    this.requireDirectory();
    if (this.failure !== null) throw new CertificateDirectoryError(this.failure);
    return (await this.open()).desk.push(domains, pair);
  }

  /** Keeps the certificates of a controller's frame. The port for HTTPS opens with the first of them. */
  async bring(frame: AppliedFrame): Promise<CertificateOutcome[]> {
    const outcomes = await this.brought(frame);
    this.refused.note(frame, outcomes);
    return outcomes;
  }

  private async brought(frame: AppliedFrame): Promise<CertificateOutcome[]> {
    const { brought = [], rejected = [] } = frame.certificates ?? {};
    if (brought.length + rejected.length === 0) return [];
    const folder = join(this.tools.stateDir, APPLIED_FOLDER);
    const first = brought.length > 0 && !existsSync(folder);
    try {
      if (first) makeWritable(folder);
      const before = this.https;
      const outcomes = await (await this.open()).applied.bring(frame);
      if (first && before !== null) await this.tools.opened();
      return outcomes;
    } catch (error) {
      const reason = `${folder} can't be used: ${reasonOf(error)}`;
      return [...brought, ...rejected].map(({ domains }) => ({ domains, result: 'rejected' as const, reason }));
    }
  }

  /** Forgets those that a controller's frame takes away. */
  async drop(frame: AppliedFrame): Promise<CertificateOutcome[]> {
    return this.https === null ? [] : this.https.applied.drop(frame);
  }

  remove(domain: string): Promise<string[] | null> {
    return this.https === null ? Promise.resolve(null) : this.https.desk.remove(domain);
  }

  retry(domain: string): Promise<readonly string[] | null> {
    return this.https === null ? Promise.resolve(null) : this.https.desk.retry(domain);
  }

  routesChanged(change: RoutesChange): void {
    if (this.https !== null) return this.https.routesChanged(change);
    const asks = (domain: string): boolean => {
      const site = this.tools.site(domain);
      return site !== null && isInternal(site, this.local);
    };
    if (change.added.some(asks) || change.changed.some(asks)) void this.openSoon();
  }

  /** A visitor waits for the certificate of this name. */
  hurry(name: string): void {
    this.https?.hurry(name);
  }

  pause(): void {
    this.https?.pause();
  }

  resume(): void {
    this.https?.resume();
  }

  /** What a visitor of this host is shown, in words. */
  describe(host: string): string {
    return this.https === null ? 'none: no e-mail is set, and there is no certificate directory' : this.https.describe(host);
  }

  /** Why a visitor without TLS is shown none, in words. */
  describePlain(host: string): string {
    return this.https?.describePlain(host) ?? onHttp(siteFor(host, this.tools), false, null);
  }

  stop(): void {
    this.https?.stop();
  }
}
