import { constants } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { SecureContext } from 'node:tls';
import type { Certificate } from '../../shared/certificates/certificate.ts';
import { covers, shortAddress } from '../../shared/certificates/certificate-names.ts';
import { CIPHERS } from '../../shared/ciphers.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import { tls } from '../../shared/runtime/node-on-demand.ts';
import { accepted, type Parsed, refused } from '../../shared/values/parsed.ts';
import { FolderWatcher } from '../tls/store/folder-watcher.ts';
import { fingerprintOfPair, readPair, UnreadableNowError } from '../tls/store/pair-folder.ts';

/** The paths of the two files. */
export type CertificatePaths = { readonly certificate: string; readonly privateKey: string };

/** How often the files are checked (ms) in case no change was reported. */
const CHECK_MS = 60_000;
/** The two files are rarely written at once, so they are read only when neither has changed for this long (ms). */
const QUIET_MS = 500;
/** A warning is given when less than a tenth of the lifetime is left, but at most this long (ms) before the certificate expires. */
const WARN_MS = 14 * 86_400_000;

type LoadedCertificate = { readonly certificate: Certificate; readonly context: SecureContext };

/**
 * The certificate that the Admin API presents to other machines. Changed files are loaded once they are complete and
 * valid; until then the previous certificate stays.
 */
export class OwnCertificate {
  private readonly paths: CertificatePaths;
  private readonly clock: Clock;
  private readonly log: Log;
  private readonly watches: FolderWatcher;
  private loaded: LoadedCertificate;
  private seen: string;
  /** Why the current files are not used; null while they are. */
  private refusal: string | null = null;
  private announced = '';
  private forgetChange: () => void = () => undefined;
  private stopChecking: () => void = () => undefined;

  private constructor(paths: CertificatePaths, loaded: LoadedCertificate, seen: string, { clock, log }: { clock: Clock; log: Log }) {
    this.paths = paths;
    this.loaded = loaded;
    this.seen = seen;
    this.clock = clock;
    this.log = log;
    this.watches = new FolderWatcher(() => this.changed(), log);
  }

  /**
   * Reads the two files. An expired certificate is accepted: clients report it, and no site has to wait for it. A refusal names the file
   * and what to do.
   */
  static read(paths: CertificatePaths, parts: { clock: Clock; log: Log }): Parsed<OwnCertificate> {
    const absolute = { certificate: resolve(paths.certificate), privateKey: resolve(paths.privateKey) };
    const seen = fingerprintOfPair(absolute.certificate, absolute.privateKey);
    try {
      const loaded = load(absolute);
      return loaded.ok ? accepted(new OwnCertificate(absolute, loaded.value, seen, parts)) : loaded;
    } catch (error) {
      if (error instanceof UnreadableNowError) return refused(error.message);
      throw error;
    }
  }

  get context(): SecureContext {
    return this.loaded.context;
  }

  /** Whether the certificate covers this host, a name or an address in lower case. */
  isFor(host: string): boolean {
    return covers(this.loaded.certificate.domains, shortAddress(host));
  }

  /** Problems of the certificate, one line each. */
  get warnings(): string[] {
    const { certificate, privateKey } = this.paths;
    const { notBefore, notAfter } = this.loaded.certificate;
    const now = this.clock.now();
    const renew = `put a renewed certificate there (and its key into ${privateKey}); it is loaded immediately`;
    const warnings: string[] = [];
    if (this.refusal !== null)
      warnings.push(`the new certificate of the Admin API is not used and the previous one stays: ${this.refusal}`);
    if (now >= notAfter)
      warnings.push(`the certificate of the Admin API in ${certificate} has expired (${dayOf(notAfter)}), so clients reject it; ${renew}`);
    else if (now < notBefore)
      warnings.push(
        `the certificate of the Admin API in ${certificate} is not valid before ${dayOf(notBefore)}; correct the clock of this machine, or wait`,
      );
    else if (notAfter - now < Math.min(WARN_MS, (notAfter - notBefore) / 10))
      warnings.push(`the certificate of the Admin API in ${certificate} expires soon (${dayOf(notAfter)}); ${renew}`);
    return warnings;
  }

  /** Starts watching the files. */
  watch(): void {
    this.check();
    this.stopChecking = this.clock.every(CHECK_MS, () => this.check());
  }

  stop(): void {
    this.forgetChange();
    this.stopChecking();
    this.watches.close();
  }

  private changed(): void {
    this.forgetChange();
    this.forgetChange = this.clock.after(QUIET_MS, () => this.check());
  }

  private check(): void {
    this.follow();
    const { certificate, privateKey } = this.paths;
    const seen = fingerprintOfPair(certificate, privateKey);
    if (seen !== this.seen && this.renew()) this.seen = seen;
    this.announce();
  }

  /** @returns false if the files can't be read now. */
  private renew(): boolean {
    try {
      this.use(load(this.paths));
      return true;
    } catch (error) {
      if (!(error instanceof UnreadableNowError)) throw error;
      this.refusal = error.message;
      return false;
    }
  }

  private use(read: Parsed<LoadedCertificate>): void {
    const reason = read.ok ? this.unfit(read.value.certificate) : read.reason;
    this.refusal = reason;
    if (!read.ok || reason !== null) return;
    this.loaded = read.value;
    const { domains, notAfter } = read.value.certificate;
    this.log.info({ names: domains, until: dayOf(notAfter) }, 'the Admin API uses a new certificate');
  }

  /** Why a valid pair must not replace the current one. */
  private unfit({ notBefore, notAfter }: Certificate): string | null {
    const now = this.clock.now();
    const { certificate } = this.paths;
    if (now >= notAfter && now < this.loaded.certificate.notAfter)
      return `${certificate}: it has expired (${dayOf(notAfter)}); put a valid one there`;
    if (now < notBefore && now >= this.loaded.certificate.notBefore)
      return `${certificate}: it is not valid before ${dayOf(notBefore)}; put a valid one there`;
    return null;
  }

  private follow(): void {
    this.watches.follow([...new Set([dirname(this.paths.certificate), dirname(this.paths.privateKey)])]);
  }

  /** Logs each warning once for as long as it lasts. */
  private announce(): void {
    const { warnings } = this;
    const text = warnings.join('\n');
    if (text === this.announced) return;
    this.announced = text;
    for (const warning of warnings) this.log.warn(warning);
  }
}

/** @throws UnreadableNowError */
function load({ certificate, privateKey }: CertificatePaths): Parsed<LoadedCertificate> {
  const read = readPair({ chainPath: certificate, keyPath: privateKey });
  if (!read.ok) return read;
  const { chain, privateKey: key } = read.value;
  // Renegotiation costs the server more than the client.
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION;
  try {
    const context = tls().createSecureContext({ cert: chain, key, minVersion: 'TLSv1.2', ciphers: CIPHERS, secureOptions });
    return accepted({ certificate: read.value, context });
  } catch (error) {
    return refused(
      `${certificate}: TLS does not accept this certificate (${error instanceof Error ? error.message : error}); have a new one issued`,
    );
  }
}

const dayOf = (time: number): string => new Date(time).toISOString().slice(0, 16).replace('T', ' ');
