import { type Certificate, readCertificate } from '../../../shared/certificate.ts';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log.ts';
import type { Random } from '../../../shared/runtime/random.ts';
import { CertificateMaker, type Signed } from './certificate-maker.ts';
import { BEHIND_MS, openRoot } from './root.ts';

const LEAF_MS = 7 * 86_400_000;
/** How often what is about to end is looked for (ms). */
const LOOK_MS = 3_600_000;

type Edge = { readonly clock: Clock; readonly random: Random; readonly log: Log };
/** `renewAt` in milliseconds since 1970. */
export type InternalCertificate = Certificate & { readonly renewAt: number };

/** Our own certificate authority, for sites that no public one may or should certify. Whoever visits them has to trust its root. */
export class InternalAuthority {
  /** PEM; for whoever is to trust it. */
  readonly root: string;
  private readonly signer: Signed;
  private readonly maker: CertificateMaker;
  private readonly edge: Edge;
  private readonly changed: (name: string, certificate: InternalCertificate | null) => void;
  private readonly leaves = new Map<string, InternalCertificate>();
  private readonly stopLooking: () => void;
  private wanted: ReadonlySet<string> = new Set();
  /** One after another: thousands of names at once must not keep everything else waiting. */
  private last: Promise<void> = Promise.resolve();

  private constructor(signer: Signed, maker: CertificateMaker, edge: Edge, changed: InternalAuthority['changed']) {
    this.root = signer.certificate;
    this.signer = signer;
    this.maker = maker;
    this.edge = edge;
    this.changed = changed;
    this.stopLooking = edge.clock.every(LOOK_MS, () => void this.issueAll());
  }

  /**
   * The authority whose root lies in the state directory. `changed` is told of every certificate that is new, and of
   * names that are wanted no more.
   * @throws the system's error.
   */
  static async open(stateDir: string, edge: Edge, changed: InternalAuthority['changed']): Promise<InternalAuthority> {
    const maker = await CertificateMaker.load(edge.random);
    return new InternalAuthority(await openRoot(stateDir, maker, edge), maker, edge, changed);
  }

  /** These DNS names, wildcards and addresses (lower case) have certificates from now on, renewed in time, and no others. Resolves when they do. */
  want(names: Iterable<string>): Promise<void> {
    this.wanted = new Set(names);
    for (const name of this.leaves.keys()) {
      if (this.wanted.has(name)) continue;
      this.leaves.delete(name);
      this.changed(name, null);
    }
    return this.issueAll();
  }

  get(name: string): InternalCertificate | null {
    return this.leaves.get(name) ?? null;
  }

  stop(): void {
    this.stopLooking();
    this.wanted = new Set();
  }

  private issueAll(): Promise<void> {
    this.last = this.last.then(async () => {
      for (const name of this.wanted) if (this.isDue(name)) await this.issue(name);
    });
    return this.last;
  }

  private isDue(name: string): boolean {
    const leaf = this.leaves.get(name);
    return leaf === undefined || leaf.renewAt <= this.edge.clock.now();
  }

  private async issue(name: string): Promise<void> {
    const now = this.edge.clock.now();
    try {
      const { certificate, privateKey } = await this.maker.leaf(name, { notBefore: now - BEHIND_MS, notAfter: now + LEAF_MS }, this.signer);
      const read = readCertificate(certificate, privateKey);
      if (!read.ok) throw new Error(read.reason);
      if (!this.wanted.has(name)) return;
      const leaf = { ...read.value, renewAt: now + (LEAF_MS * 2) / 3 };
      this.leaves.set(name, leaf);
      this.changed(name, leaf);
    } catch (error) {
      // The next look tries again, and the other names are to have theirs.
      this.edge.log.error({ name, error: String(error) }, 'the internal authority could not make a certificate');
    }
  }
}
