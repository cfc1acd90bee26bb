import type { Apply, CertificateOutcome, FrameCertificates } from '../../../shared/wire/apply.ts';
import type { StoredCertificate } from '../store/cert-store.ts';
import { describeFileError } from '../store/directory-access.ts';
import type { DirectoryStore } from '../store/directory-store.ts';

export type AppliedCertificatesTools = {
  readonly store: DirectoryStore;
  /** Every certificate known so far. */
  held(): Iterable<StoredCertificate>;
  /** Resolves when every worker serves what the store holds. */
  published(): Promise<void>;
};

/** The part of a frame that concerns certificates. */
export type CertificatesFrame = { readonly header: Apply; readonly certificates?: FrameCertificates };
type FrameCertificate = FrameCertificates['accepted'][number];

/** Certificates applied by controllers. They are stored, so they outlive the process; renewing them is up to the controller. */
export class AppliedCertificates {
  private readonly tools: AppliedCertificatesTools;

  constructor(tools: AppliedCertificatesTools) {
    this.tools = tools;
  }

  /** Stores the certificates in a frame. Resolves when they are on disk and being served. */
  async apply({ header, certificates }: CertificatesFrame): Promise<CertificateOutcome[]> {
    const outcomes: CertificateOutcome[] = (certificates?.rejected ?? []).map((one) => ({ ...one, result: 'rejected' }));
    const taken = new Set<string>();
    for (const certificate of certificates?.accepted ?? []) {
      const { domains } = certificate;
      const repeated = taken.has(keyOf(domains));
      taken.add(keyOf(domains));
      outcomes.push(
        repeated
          ? { domains, result: 'rejected', reason: 'the frame has these domains twice; the first one is used' }
          : await this.applyOne(certificate, header.controller),
      );
    }
    if (outcomes.some(({ result }) => result === 'added' || result === 'changed')) await this.tools.published();
    return outcomes;
  }

  /** Deletes the certificates that a frame removes. */
  async remove({ header, certificates }: CertificatesFrame): Promise<CertificateOutcome[]> {
    const outcomes: CertificateOutcome[] = [];
    for (const { id, domains } of this.unwanted(header, certificates)) {
      try {
        await this.tools.store.delete(id);
        outcomes.push({ domains, result: 'removed' });
      } catch (error) {
        outcomes.push({ domains, result: 'rejected', reason: `it can't be deleted: ${describeFileError(error)}` });
      }
    }
    if (outcomes.length > 0) await this.tools.published();
    return outcomes;
  }

  private async applyOne({ domains, source, pair }: FrameCertificate, controller: string): Promise<CertificateOutcome> {
    const { store } = this.tools;
    const held = this.all();
    const others = held.find(
      ({ owner, domains: theirs }) => !isOwnedBy(owner, controller) && domains.some((domain) => theirs.includes(domain)),
    );
    if (others) return { domains, result: 'conflicted', reason: `it belongs to controller "${others.owner?.controller}"` };
    const before = held.find((one) => keyOf(one.domains) === keyOf(domains));
    try {
      const there = before === undefined ? null : await store.get(before.id);
      const same = there !== null && there.chain === pair.chain && there.privateKey === pair.privateKey;
      if (same && before?.owner?.source === source) return { domains, result: 'unchanged' };
      await store.put({ source: 'applied', domains, pair, owner: { controller, source } });
      return { domains, result: before === undefined ? 'added' : 'changed' };
    } catch (error) {
      return { domains, result: 'rejected', reason: `it can't be stored: ${describeFileError(error)}` };
    }
  }

  /** A full frame removes what the controller once applied from its sources and no longer lists; a delta removes what it names. */
  private unwanted({ controller, sources, based_on }: Apply, certificates: FrameCertificates | undefined): StoredCertificate[] {
    const { accepted = [], rejected = [], removed = [] } = certificates ?? {};
    const named = new Set([...accepted, ...rejected].map(({ domains }) => keyOf(domains)));
    const theirs = this.all().filter(({ owner, domains }) => isOwnedBy(owner, controller) && !named.has(keyOf(domains)));
    if (based_on === null) return theirs.filter(({ owner }) => owner === undefined || sources.includes(owner.source));
    const gone = new Set(removed.map(({ domains }) => keyOf(domains)));
    return theirs.filter(({ domains }) => gone.has(keyOf(domains)));
  }

  private all(): StoredCertificate[] {
    return [...this.tools.held()].filter(({ source }) => source === 'applied');
  }
}

/** A certificate without a known owner may be replaced by any controller. */
const isOwnedBy = (owner: StoredCertificate['owner'], controller: string): boolean =>
  owner === undefined || owner.controller === controller;

const keyOf = (domains: readonly string[]): string => [...new Set(domains)].sort().join();
