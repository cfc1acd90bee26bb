import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Certificate } from '../../shared/certificates/certificate.ts';
import { APPLIED_FOLDER, NAME } from '../../shared/name.ts';
import type { CertificateOutcome } from '../../shared/wire/apply.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import type { CertificatesFrame } from './applied/applied-certificates.ts';
import { RejectedCertificates } from './applied/rejected-certificates.ts';
import type { CertificateManager, CertificateManagerTools, CertificateStats } from './certificate-manager.ts';
import type { CertificateTrouble } from './certificate-warnings.ts';
import { explainPlainHttp, siteFor } from './explain-certificate.ts';
import { type DomainsChange, usesInternalIssuer } from './internal/internal-issuer.ts';
import { readRootCertificate } from './internal/root.ts';
import type { AcmeSettings } from './issue/acme/acme-client.ts';
import { describeFileError, makeReadable, makeWritable } from './store/directory-access.ts';

/** How often a directory that can't be used is checked again (ms). */
const CHECK_AGAIN_MS = 30_000;

export type LazyCertificateManagerTools = CertificateManagerTools & { readonly certDir: string };

const ADVICE = 'name another one with --cert-dir PATH';

/** The certificate directory can't be used: the message names it, the reason and the remedy. */
export class CertificateDirectoryError extends Error {}

/** Loads the certificate manager when HTTPS is first needed: a plain HTTP setup needs neither its port nor its directory. */
export class LazyCertificateManager {
  private readonly tools: LazyCertificateManagerTools;
  private manager: CertificateManager | null = null;
  private opening: Promise<CertificateManager> | null = null;
  private acme: AcmeSettings | null = null;
  private local = false;
  /** Whether another process has the certificates, or this one ends. */
  private paused = false;
  private failure: string | null = null;
  private cancelCheck: () => void = () => undefined;
  private readonly rejected = new RejectedCertificates();

  constructor(tools: LazyCertificateManagerTools) {
    this.tools = tools;
  }

  /** Why sites have no certificate, or are about to lose theirs. */
  get warnings(): string[] {
    return [
      ...(this.acme === null || this.failure === null ? [] : [this.failure]),
      ...this.rejected.warnings(),
      ...(this.manager?.warnings ?? []),
    ];
  }

  /** Yields everything that is wrong; null for each name without a problem, so that the caller can pause. */
  *troubles(): Generator<CertificateTrouble | null> {
    if (this.acme !== null && this.failure !== null) yield { kind: 'certificates_failed', domain: null, message: this.failure };
    for (const message of this.rejected.warnings()) yield { kind: 'certificate_refused', domain: null, message };
    if (this.manager !== null) yield* this.manager.troubles();
  }

  /** How many names have a certificate. */
  get served(): number {
    return this.manager?.served ?? 0;
  }

  /** Starts serving the contents of the certificate directory, if there is one. */
  open(): Promise<CertificateManager> {
    this.opening ??= this.load().catch((error: unknown) => {
      this.opening = null;
      throw error;
    });
    return this.opening;
  }

  /** Like `open`, but failures are logged instead of thrown. */
  private async openInBackground(): Promise<void> {
    await this.open().catch((error: unknown) => this.tools.log.error({ error: String(error) }, 'HTTPS could not be started'));
  }

  private async load(): Promise<CertificateManager> {
    // A plain HTTP setup does not pay for the ACME code in memory.
    const manager = await (await import('./certificate-manager.ts')).CertificateManager.open(this.tools.certDir, this.tools);
    this.manager = manager;
    // A takeover may have begun meanwhile.
    if (this.paused) await manager.pause();
    manager.setAcme(this.acme);
    await manager.useInternalIssuer(this.local);
    await this.tools.opened();
    return manager;
  }

  /** Creates the certificate directory if it is missing, and checks that it can be used. @throws CertificateDirectoryError. */
  requireDirectory(): void {
    const { certDir, log } = this.tools;
    const before = this.failure;
    try {
      makeReadable(certDir);
    } catch (error) {
      throw new CertificateDirectoryError(
        this.fails(`can't use the certificate directory ${certDir} (${describeFileError(error)}); ${ADVICE}`),
      );
    }
    try {
      makeWritable(certDir);
    } catch (error) {
      const reason = describeFileError(error);
      const failure = `can't write the certificate directory ${certDir} (${reason}): its certificates are used, but none can be ordered or posted; ${ADVICE}`;
      if (failure !== before) log.warn(failure);
      this.fails(failure);
      return;
    }
    this.cancelCheck();
    this.failure = null;
    if (before !== null) log.info({ path: certDir }, 'the certificate directory can be used again');
  }

  /** Keeps a failure for `warnings` until the directory can be used. */
  private fails(failure: string): string {
    this.failure = failure;
    this.cancelCheck();
    this.cancelCheck = this.tools.clock.after(CHECK_AGAIN_MS, () => this.checkDirectory());
    return failure;
  }

  /** Logs an unusable directory, once; orders will then fail with that reason. */
  private checkDirectory(): void {
    const before = this.failure;
    try {
      this.requireDirectory();
    } catch (error) {
      if (!(error instanceof CertificateDirectoryError)) throw error;
      if (error.message !== before) this.tools.log.error(`${NAME}: ${error.message}`);
    }
  }

  /** Orders certificates from this authority from now on; null: none. Obstacles are reported by `warnings` and the log. */
  async setAcme(acme: AcmeSettings | null): Promise<void> {
    if (acme !== null && this.acme === null) this.checkDirectory();
    this.acme = acme;
    if (acme !== null) await this.openInBackground();
    this.manager?.setAcme(acme);
  }

  /** Issues internal certificates for sites that request them; with `local`, also for sites without a setting of their own. */
  async useInternalIssuer(local: boolean): Promise<void> {
    this.local = local;
    if (this.manager !== null) return this.manager.useInternalIssuer(local);
    for (const site of this.tools.sites()) if (usesInternalIssuer(site, local)) return this.openInBackground();
  }

  /** The root in PEM that visitors of internal sites have to trust; null if none was ever created. */
  internalRoot(): string | null {
    return this.manager === null ? readRootCertificate(this.tools.stateDir) : this.manager.internalRoot;
  }

  /** Served certificates and order results, for metrics. */
  stats(): CertificateStats {
    return this.manager?.stats() ?? { served: [], orders: [], failing: { missing: 0, renewal: 0 }, expiring: 0 };
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

  /** Stores the certificates of a controller's frame. The first one opens the HTTPS port. */
  async apply(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    const outcomes = await this.applyToStore(frame);
    this.rejected.record(frame, outcomes);
    return outcomes;
  }

  private async applyToStore(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    const { accepted = [], rejected = [] } = frame.certificates ?? {};
    if (accepted.length + rejected.length === 0) return [];
    const folder = join(this.tools.stateDir, APPLIED_FOLDER);
    const first = accepted.length > 0 && !existsSync(folder);
    try {
      if (first) makeWritable(folder);
      const before = this.manager;
      const outcomes = await (await this.open()).applied.apply(frame);
      if (first && before !== null) await this.tools.opened();
      return outcomes;
    } catch (error) {
      const reason = `${folder} can't be used: ${describeFileError(error)}`;
      return [...accepted, ...rejected].map(({ domains }) => ({ domains, result: 'rejected' as const, reason }));
    }
  }

  /** Deletes the certificates that a controller's frame removes. */
  async removeApplied(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    return this.manager === null ? [] : this.manager.applied.remove(frame);
  }

  remove(domain: string): Promise<string[] | null> {
    return this.manager === null ? Promise.resolve(null) : this.manager.admin.remove(domain);
  }

  retry(domain: string): Promise<readonly string[] | null> {
    return this.manager === null ? Promise.resolve(null) : this.manager.admin.retry(domain);
  }

  routesChanged(change: DomainsChange): void {
    if (this.manager !== null) return this.manager.routesChanged(change);
    const needsAuthority = (domain: string): boolean => {
      const site = this.tools.site(domain);
      return site !== null && usesInternalIssuer(site, this.local);
    };
    if (change.added.some(needsAuthority) || change.changed.some(needsAuthority)) void this.openInBackground();
  }

  /** A handshake is waiting for this name's certificate. */
  prioritize(name: string): void {
    this.manager?.prioritize(name);
  }

  /** Stops ordering while another process takes over. Resolves when what that process needs is on disk, or can't be saved. */
  async pause(): Promise<void> {
    this.paused = true;
    await this.manager?.pause();
  }

  resume(): void {
    this.paused = false;
    this.manager?.resume();
  }

  /** A human-readable description of the certificate that a visitor of this host gets, or why there is none. */
  explain(host: string): string {
    if (this.manager !== null) return this.manager.explain(host);
    return `none: ${this.tools.noAcme ?? 'no e-mail is set, and there is no certificate directory'}`;
  }

  /** A human-readable reason why a visitor over plain HTTP needs no certificate, or has none. */
  explainPlainHttp(host: string): string {
    return this.manager?.explainPlainHttp(host) ?? explainPlainHttp(siteFor(host, this.tools), false, null, this.tools.noAcme);
  }

  /** Resolves as `pause`. */
  async stop(): Promise<void> {
    this.paused = true;
    this.cancelCheck();
    await this.manager?.stop();
  }
}
