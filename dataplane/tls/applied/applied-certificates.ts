import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../shared/runtime/clock.ts';
import type { Log } from '../../../shared/runtime/log/log.ts';
import type { Apply, CertificateOutcome, FrameCertificates } from '../../../shared/wire/apply.ts';
import type { StoredCertificate } from '../store/cert-store.ts';
import { describeFileError } from '../store/directory-access.ts';
import type { DirectoryStore } from '../store/directory-store.ts';
import { HeldCertificates, isOwnedBy, keyOf } from './held-certificates.ts';

/** How soon the deletion of a certificate that failed is tried again (ms). */
const DELETE_AGAIN_MS = 30_000;
/** Longest time to block the event loop (ms). */
const TURN_MS = 8;

export type AppliedCertificatesTools = {
  readonly clock: Clock;
  readonly log: Log;
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
  /** The ids of certificates that no controller wants, and that could not be deleted yet. */
  private readonly undeleted = new Set<string>();
  private cancelDeletion: (() => void) | null = null;
  private paused = false;
  private last: Promise<unknown> = Promise.resolve();

  constructor(tools: AppliedCertificatesTools) {
    this.tools = tools;
  }

  /** Stores the certificates in a frame. Resolves when they are on disk and being served. */
  apply(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    return this.inTurn(() => this.applyAll(frame));
  }

  /** Deletes the certificates that a frame removes. Those that can't be deleted stay in use, and are tried again later. */
  remove(frame: CertificatesFrame): Promise<CertificateOutcome[]> {
    return this.inTurn(() => this.removeAll(frame));
  }

  private async applyAll({ header, certificates }: CertificatesFrame): Promise<CertificateOutcome[]> {
    const outcomes: CertificateOutcome[] = (certificates?.rejected ?? []).map((one) => ({ ...one, result: 'rejected' }));
    const taken = new Set<string>();
    const held = new HeldCertificates(this.all());
    let turn = this.tools.clock.monotonic();
    for (const certificate of certificates?.accepted ?? []) {
      if (this.tools.clock.monotonic() - turn >= TURN_MS) {
        await nextTurn();
        turn = this.tools.clock.monotonic();
      }
      const { domains } = certificate;
      const repeated = taken.has(keyOf(domains));
      taken.add(keyOf(domains));
      outcomes.push(
        repeated
          ? { domains, result: 'rejected', reason: 'the frame has these domains twice; the first one is used' }
          : await this.applyOne(certificate, header.controller, held),
      );
    }
    if (outcomes.some(({ result }) => result === 'added' || result === 'changed')) await this.tools.published();
    return outcomes;
  }

  private async removeAll({ header, certificates }: CertificatesFrame): Promise<CertificateOutcome[]> {
    const outcomes: CertificateOutcome[] = [];
    for (const { id, domains } of this.unwanted(header, certificates)) {
      try {
        await this.tools.store.delete(id);
        outcomes.push({ domains, result: 'removed' });
      } catch (error) {
        const reason = `it can't be deleted: ${describeFileError(error)}`;
        this.tools.log.warn({ domains, reason }, 'a certificate that a controller has removed stays in use until it can be deleted');
        this.undeleted.add(id);
        outcomes.push({ domains, result: 'rejected', reason });
      }
    }
    this.planDeletion();
    if (outcomes.length > 0) await this.tools.published();
    return outcomes;
  }

  /** Tries no more deletions: the process ends, or another one has the certificates. */
  pause(): void {
    this.paused = true;
    this.cancelDeletion?.();
    this.cancelDeletion = null;
  }

  resume(): void {
    this.paused = false;
    this.planDeletion();
  }

  private planDeletion(): void {
    if (this.paused || this.undeleted.size === 0) return;
    this.cancelDeletion ??= this.tools.clock.after(DELETE_AGAIN_MS, () => void this.inTurn(() => this.deleteAgain()));
  }

  private async deleteAgain(): Promise<void> {
    this.cancelDeletion = null;
    const { store, log } = this.tools;
    for (const id of this.undeleted) {
      try {
        await store.delete(id);
        this.undeleted.delete(id);
        log.info({ certificate: id }, 'a certificate that a controller has removed is deleted now');
      } catch (error) {
        // The first failure is in the log.
        log.debug({ certificate: id, error: String(error) }, 'a certificate can still not be deleted');
      }
    }
    this.planDeletion();
  }

  /** One after the other: a deletion must not meet a frame that has the certificate again. */
  private inTurn<T>(task: () => Promise<T>): Promise<T> {
    const done = this.last.then(task);
    this.last = done.catch(() => undefined);
    return done;
  }

  private async applyOne(
    { domains, source, pair }: FrameCertificate,
    controller: string,
    held: HeldCertificates,
  ): Promise<CertificateOutcome> {
    const { store } = this.tools;
    const others = held.ofOthers(domains, controller);
    if (others !== null) return { domains, result: 'conflicted', reason: `it belongs to controller "${others.owner?.controller}"` };
    const before = held.exactly(domains);
    if (before !== null) this.undeleted.delete(before.id);
    try {
      const there = before === null ? null : await store.get(before.id);
      const same = there !== null && there.chain === pair.chain && there.privateKey === pair.privateKey;
      if (same && before?.owner?.source === source) return { domains, result: 'unchanged' };
      held.replace(await store.put({ source: 'applied', domains, pair, owner: { controller, source } }));
      return { domains, result: before === null ? 'added' : 'changed' };
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
