import type { Certificate } from '../../shared/certificates/certificate.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log/log.ts';
import type { EntriesChange, Publisher } from '../publish/publisher.ts';
import type { SelectionChange } from './certificate-selection.ts';
import type { StoredCertificate } from './store/cert-store.ts';
import { UnreadableNowError } from './store/pair-folder.ts';

/** How soon files that can't be read at the moment are read again (ms). */
const READ_AGAIN_MS = 5_000;

/** A certificate as workers get it. */
export type ServedPair = Pick<Certificate, 'domains' | 'chain' | 'privateKey'>;

type CertificatePublicationTools = {
  readonly clock: Clock;
  readonly log: Log;
  readonly publisher: Publisher;
  /** null if it is gone. @throws UnreadableNowError. */
  pairOf(certificate: StoredCertificate): Promise<ServedPair | null>;
  /** The certificate that is selected for exactly this name or wildcard now; null: none. */
  selected(name: string): StoredCertificate | null;
};

/** Publishes the selected certificates to the workers, one publication after the other. */
export class CertificatePublication {
  private readonly tools: CertificatePublicationTools;
  private publishing: Promise<unknown> = Promise.resolve();
  /** Names whose certificate has changed since it was last published. */
  private readonly unpublished = new Map<string, StoredCertificate | null>();
  /** Names whose certificates could not be read. */
  private readonly unread = new Set<string>();
  private cancelReading: () => void = () => undefined;

  constructor(tools: CertificatePublicationTools) {
    this.tools = tools;
  }

  /** Resolves once every worker serves what has been queued. */
  get settled(): Promise<unknown> {
    return this.publishing;
  }

  /** Changes that arrive during a publication are published together: thousands of names may change one by one. */
  queue(changes: readonly SelectionChange[]): void {
    if (this.unpublished.size === 0) void this.inTurn(() => this.publishChanges());
    for (const { name, certificate } of changes) this.unpublished.set(name, certificate);
  }

  /** Something else that is published in turn. */
  inTurn(publish: () => Promise<unknown>): Promise<unknown> {
    this.publishing = this.publishing
      .then(publish)
      .catch((error: unknown) => this.tools.log.error({ error: String(error) }, 'not every worker serves the current certificates'));
    return this.publishing;
  }

  stop(): void {
    this.cancelReading();
  }

  private async publishChanges(): Promise<void> {
    const changes = [...this.unpublished];
    this.unpublished.clear();
    await this.tools.publisher.publish({ certificates: await this.entries(changes) });
  }

  private async entries(changes: readonly (readonly [string, StoredCertificate | null])[]): Promise<EntriesChange> {
    const upserts: { domain: string; json: string }[] = [];
    const removed: string[] = [];
    for (const [name, certificate] of changes) {
      const pair = certificate && (await this.read(certificate));
      if (pair === 'later') this.publishLater(name);
      else if (pair === null) removed.push(name);
      else upserts.push({ domain: name, json: jsonOf(pair, certificate?.source) });
    }
    return { whole: false, upserts, removed };
  }

  private async read(certificate: StoredCertificate): Promise<ServedPair | 'later' | null> {
    try {
      return await this.tools.pairOf(certificate);
    } catch (error) {
      if (error instanceof UnreadableNowError) return 'later';
      throw error;
    }
  }

  /** What is served for a name stays until the files of its new certificate can be read. */
  private publishLater(name: string): void {
    if (this.unread.size === 0) this.cancelReading = this.tools.clock.after(READ_AGAIN_MS, () => this.readAgain());
    this.unread.add(name);
  }

  private readAgain(): void {
    this.queue([...this.unread].map((name) => ({ name, certificate: this.tools.selected(name) })));
    this.unread.clear();
  }
}

const jsonOf = ({ domains, chain, privateKey }: ServedPair, source: StoredCertificate['source'] | undefined): string =>
  JSON.stringify({
    domains,
    certificate: chain,
    private_key: privateKey,
    ...(source === 'internal' && { internal: true }),
    ...((source === 'file' || source === 'pushed') && { provided: true }),
  });
