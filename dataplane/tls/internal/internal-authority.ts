import { X509Certificate } from 'node:crypto';
import type { Certificate } from '../../../shared/certificates/certificate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { CertificateGenerator, type GeneratedPair } from './certificate-generator.ts';
import { CLOCK_SKEW_MS, MIN_ROOT_MS, openRoot } from './root.ts';

const SECOND = 1_000;
const LEAF_LIFETIME_MS = 7 * 86_400_000;
/** How often expiring certificates are looked for (ms): when a machine wakes up after a week, all of them have expired. */
const RENEWAL_CHECK_MS = 60_000;

type AuthorityRuntime = { readonly clock: Clock; readonly random: Random; readonly log: Log };
/** `renewAt` in milliseconds since 1970. */
export type InternalCertificate = Certificate & { readonly renewAt: number };

/** Our own certificate authority, for sites that a public one can't or should not issue for. Visitors have to trust its root. */
export class InternalAuthority {
  /** PEM, for installing it as trusted. */
  readonly root: string;
  /** When the root expires (ms since 1970). */
  readonly rootNotAfter: number;
  private readonly signer: GeneratedPair;
  /** Its common name. */
  private readonly issuer: string;
  private readonly generator: CertificateGenerator;
  private readonly runtime: AuthorityRuntime;
  private readonly changed: (name: string, certificate: InternalCertificate | null) => void;
  private readonly leaves = new Map<string, InternalCertificate>();
  private readonly stopRenewing: () => void;
  private readonly names = new Set<string>();
  /** Names to issue or renew, first in, first out. */
  private readonly due = new Set<string>();
  /** Those of them that a handshake is waiting for. */
  private readonly urgent = new Set<string>();
  /** Names are issued one after another, since thousands at once would block everything else. */
  private issuing: Promise<void> | null = null;

  private constructor(
    signer: GeneratedPair,
    generator: CertificateGenerator,
    runtime: AuthorityRuntime,
    changed: InternalAuthority['changed'],
  ) {
    this.root = signer.certificate;
    this.signer = signer;
    const { subject, validToDate } = new X509Certificate(signer.certificate);
    this.issuer = subject.replace(/^CN=/, '');
    this.rootNotAfter = validToDate.getTime();
    this.generator = generator;
    this.runtime = runtime;
    this.changed = changed;
    this.stopRenewing = runtime.clock.every(RENEWAL_CHECK_MS, () => void this.renewDue());
  }

  /**
   * Opens the authority whose root is in the state directory. `changed` is called for every new certificate and every
   * removed name.
   * @throws the system's error.
   */
  static async open(stateDir: string, runtime: AuthorityRuntime, changed: InternalAuthority['changed']): Promise<InternalAuthority> {
    const generator = await CertificateGenerator.load(runtime.random);
    return new InternalAuthority(await openRoot(stateDir, generator, runtime), generator, runtime, changed);
  }

  /** Whether the next start replaces the root, because it has expired or is about to. */
  get isRootExpiring(): boolean {
    return this.rootNotAfter < this.runtime.clock.now() + MIN_ROOT_MS;
  }

  /** Replaces the set of DNS names, wildcards and addresses (lower case) that have certificates. Resolves when all are issued. */
  setNames(names: Iterable<string>): Promise<void> {
    const wanted = new Set(names);
    for (const name of this.names) if (!wanted.has(name)) this.drop(name);
    for (const name of wanted) this.add(name);
    return this.renewDue();
  }

  /** Issues a certificate for this name and keeps it renewed. */
  add(name: string): void {
    if (this.names.has(name)) return;
    this.names.add(name);
    this.due.add(name);
    void this.issueAll();
  }

  /** Drops the certificate of this name. */
  drop(name: string): void {
    this.names.delete(name);
    this.due.delete(name);
    if (this.leaves.delete(name)) this.changed(name, null);
  }

  /** Issues this name next if it has no certificate yet, because a handshake is waiting. */
  prioritize(name: string): void {
    if (this.due.has(name)) this.urgent.add(name);
  }

  get(name: string): InternalCertificate | null {
    return this.leaves.get(name) ?? null;
  }

  stop(): void {
    this.stopRenewing();
    this.names.clear();
    this.due.clear();
    this.urgent.clear();
  }

  private renewDue(): Promise<void> {
    for (const name of this.names) if (this.isDue(name)) this.due.add(name);
    return this.issueAll();
  }

  private issueAll(): Promise<void> {
    if (this.due.size === 0) return Promise.resolve();
    this.issuing ??= this.issueDue();
    return this.issuing;
  }

  private async issueDue(): Promise<void> {
    // Includes names that are added meanwhile.
    for (const name of this.due) {
      for (const hurried of this.urgent) await this.issueOnce(hurried);
      await this.issueOnce(name);
    }
    this.issuing = null;
  }

  private async issueOnce(name: string): Promise<void> {
    if (this.due.has(name)) await this.issue(name);
    this.due.delete(name);
    this.urgent.delete(name);
  }

  private isDue(name: string): boolean {
    const leaf = this.leaves.get(name);
    const now = this.runtime.clock.now();
    // One that is not valid yet was issued before the time of day was set back.
    return leaf === undefined || leaf.renewAt <= now || leaf.notBefore > now;
  }

  private async issue(name: string): Promise<void> {
    // Certificate times have a resolution of one second.
    const now = Math.floor(this.runtime.clock.now() / SECOND) * SECOND;
    try {
      const lifetime = { notBefore: now - CLOCK_SKEW_MS, notAfter: now + LEAF_LIFETIME_MS };
      const { certificate: chain, privateKey, serial } = await this.generator.leaf(name, lifetime, this.signer);
      if (!this.names.has(name)) return;
      const leaf = {
        domains: [name],
        chain,
        privateKey,
        issuer: this.issuer,
        serial,
        ...lifetime,
        renewAt: now + (LEAF_LIFETIME_MS * 2) / 3,
      };
      this.leaves.set(name, leaf);
      this.changed(name, leaf);
    } catch (error) {
      // The next renewal check retries, and the other names must not wait for this one.
      this.runtime.log.error({ name, error: String(error) }, 'the internal authority could not issue a certificate');
    }
  }
}
