import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Log } from '../../../shared/runtime/log.ts';
import { HostIndex } from '../match/host-index.ts';
import type { EntriesPublication } from '../protocol.ts';

/** A certificate as it is published under each name that it is to be shown for. PEM, the chain from the leaf on. */
export type PublishedCertificate = {
  /** What it is good for, wildcards as they are written. Lower case. */
  readonly domains: readonly string[];
  readonly certificate: string;
  readonly private_key: string;
  /** Whether it comes from our own authority, which browsers trust only where somebody told them to. */
  readonly internal?: boolean;
};

/** TLS contexts that are ready at once (35 KB each); the one unused for longest is built again when it is asked for. */
const MOST_CONTEXTS = 1_000;

/** RFC 9325 4.2: forward secrecy and authenticated encryption, which is what everybody has spoken for ten years. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** A tenth of what RFC 8446 4.6.1 allows: how long a ticket resumes a session (s). */
const TICKET_SECS = 60_480;

/** What a name is shown: read when it is first asked for. */
export class ShownCertificate {
  private readonly exact: ReadonlySet<string>;
  readonly published: PublishedCertificate;
  /** Whether a browser that has seen it may be told to never come without: not where it was only meant for this machine. */
  readonly lasting: boolean;

  constructor(published: PublishedCertificate) {
    this.published = published;
    this.exact = new Set(published.domains);
    this.lasting = published.internal !== true && !published.domains.some((name) => name === 'localhost' || isIP(name) !== 0);
  }

  /** Whether a client that was shown it may ask for this host: RFC 9110 7.4, RFC 6125 6.4.3 (a wildcard is one label). */
  covers(host: string): boolean {
    if (this.exact.has(host)) return true;
    const dot = host.indexOf('.');
    return dot > 0 && this.exact.has(`*${host.slice(dot)}`);
  }
}

/** The certificates of one worker, by name. */
export class Certificates {
  private readonly index = new HostIndex<ShownCertificate>((_, json) => new ShownCertificate(JSON.parse(json)));
  /** The one used last stands last. */
  private readonly contexts = new Map<ShownCertificate, SecureContext | null>();
  private readonly log: Log;
  private ticketKeys: Buffer | null = null;
  private expected: ReadonlySet<string> = new Set();

  constructor(log: Log) {
    this.log = log;
  }

  apply(change: EntriesPublication, nextTurn: () => Promise<void>): Promise<void> {
    return this.index.apply(change, nextTurn);
  }

  /** Tickets are good wherever the same keys are: 48 bytes. Those of other keys are no longer taken. */
  useTicketKeys(keys: Uint8Array): void {
    if (this.ticketKeys?.equals(keys)) return;
    this.ticketKeys = Buffer.from(keys);
    this.contexts.clear();
  }

  /** These names will have one soon: whoever asks for them may wait. */
  expect(names: readonly string[]): void {
    this.expected = new Set(names);
  }

  expects(name: string): boolean {
    return this.expected.has(name);
  }

  find(name: string): ShownCertificate | null {
    return this.index.find(name);
  }

  /** null where the library refuses it; the log says why, once. */
  contextOf(shown: ShownCertificate): SecureContext | null {
    let context = this.contexts.get(shown);
    if (context === undefined) context = this.build(shown);
    else this.contexts.delete(shown);
    this.contexts.set(shown, context);
    return context;
  }

  private build({ published }: ShownCertificate): SecureContext | null {
    if (this.contexts.size >= MOST_CONTEXTS) for (const oldest of this.contexts.keys()) if (this.contexts.delete(oldest)) break;
    try {
      return createSecureContext({
        cert: published.certificate,
        key: published.private_key,
        minVersion: 'TLSv1.2',
        ciphers: CIPHERS,
        sessionTimeout: TICKET_SECS,
        // A ticket opens the sessions of the names that it was given for, and no others.
        sessionIdContext: createHash('sha256').update(published.domains.join()).digest('hex').slice(0, 32),
        ...(this.ticketKeys !== null && { ticketKeys: this.ticketKeys }),
      });
    } catch (error) {
      this.log.error({ domains: published.domains, error: String(error) }, 'a certificate can not be used');
      return null;
    }
  }
}
