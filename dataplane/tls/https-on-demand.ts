import type { Certificate } from '../../shared/certificate.ts';
import { NAME } from '../../shared/name.ts';
import type { CertificateRecord } from '../../shared/wire/certificate.ts';
import { Https, type HttpsTools } from './https.ts';
import type { AuthoritySettings } from './issue/authority.ts';

export type OnDemandTools = HttpsTools & {
  readonly certDir: string;
  /** The directory has been opened: the port for HTTPS is of use from now on. */
  opened(): Promise<void>;
};

/** The certificate directory can't be opened: the message says which, why, and what to do. */
export class CertificateDirectoryError extends Error {}

/** HTTPS from the moment at which somebody wants it: whoever serves plain HTTP needs no certificate directory. */
export class HttpsOnDemand {
  private readonly tools: OnDemandTools;
  private https: Https | null = null;
  private opening: Promise<Https> | null = null;
  private authority: AuthoritySettings | null = null;
  private failure: string | null = null;

  constructor(tools: OnDemandTools) {
    this.tools = tools;
  }

  /** Why sites that are to have certificates have none; null where all is well. */
  get warning(): string | null {
    return this.failure;
  }

  /** Opens the certificate directory, once. @throws CertificateDirectoryError. */
  open(): Promise<Https> {
    this.opening ??= this.opened();
    return this.opening;
  }

  private async opened(): Promise<Https> {
    const { certDir } = this.tools;
    try {
      const https = await Https.open(certDir, this.tools);
      this.https = https;
      this.failure = null;
      https.adopt(this.authority);
      await this.tools.opened();
      return https;
    } catch (error) {
      this.opening = null;
      this.failure = `can't use the certificate directory ${certDir} (${reasonOf(error)}); name another one with --cert-dir PATH`;
      throw new CertificateDirectoryError(this.failure);
    }
  }

  /** Who is asked for certificates from now on; null: nobody. What stands in the way is told by `warning` and the log. */
  async adopt(authority: AuthoritySettings | null): Promise<void> {
    this.authority = authority;
    if (this.https !== null) return this.https.adopt(authority);
    if (authority === null) return;
    await this.open().catch((error: Error) => this.tools.log.error(`${NAME}: ${error.message}`));
  }

  list(): Promise<CertificateRecord[]> {
    return this.https === null ? Promise.resolve([]) : this.https.desk.list();
  }

  async push(domains: readonly string[], pair: Certificate): Promise<CertificateRecord> {
    return (await this.open()).desk.push(domains, pair);
  }

  remove(domain: string): Promise<string[] | null> {
    return this.https === null ? Promise.resolve(null) : this.https.desk.remove(domain);
  }

  routesChanged(): void {
    this.https?.routesChanged();
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

  stop(): void {
    this.https?.stop();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is no directory',
  EEXIST: 'it is no directory',
};

const reasonOf = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return REASONS[code] ?? (error instanceof Error ? error.message : String(error));
};
