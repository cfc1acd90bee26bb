import type { RouteSpec } from '../../shared/route.ts';
import type { Clock } from '../../shared/runtime/clock.ts';
import type { Log } from '../../shared/runtime/log.ts';
import type { Random } from '../../shared/runtime/random.ts';
import type { EntriesChange, Publisher } from '../publish/publisher.ts';
import { AutomaticHttps } from './automatic.ts';
import { CertificateDesk } from './certificate-desk.ts';
import type { AuthoritySettings } from './issue/authority.ts';
import type { Keyring } from './keyring.ts';
import { KnownCertificates, type ShownChange } from './known-certificates.ts';
import type { CertStore, StoreProblem } from './store/cert-store.ts';
import { DirectoryStore } from './store/directory-store.ts';

/** How often the age of the keys of session tickets is looked at (ms). */
const TICKETS_MS = 3_600_000;

export type HttpsTools = {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly stateDir: string;
  readonly keyring: Keyring;
  readonly publisher: Publisher;
  routes(): Iterable<RouteSpec>;
};

/** Everything between certificates on disk and workers that show them: store → known → published, and orders for what is missing. */
export class Https {
  readonly desk: CertificateDesk;
  private readonly tools: HttpsTools;
  private readonly store: CertStore;
  private readonly known: KnownCertificates;
  private readonly automatic: AutomaticHttps;
  private readonly ends: (() => void)[] = [];
  /** Changes are published one after the other. */
  private publishing: Promise<unknown> = Promise.resolve();
  private problems: readonly StoreProblem[] = [];

  private constructor(store: CertStore, tools: HttpsTools) {
    const { clock, publisher, keyring } = tools;
    this.tools = tools;
    this.store = store;
    this.known = new KnownCertificates(clock);
    const shown = async (): Promise<void> => void (await this.publishing);
    this.automatic = new AutomaticHttps({ ...tools, store, shown, held: (name) => this.known.find(name) });
    this.desk = new CertificateDesk({
      store,
      shown,
      plans: (name) => this.automatic.plans(name),
      wanted: () => this.automatic.wanted(),
    });
    this.known.onChange((changes) => this.show(changes));
    this.ends.push(
      store.watch((change) => {
        this.known.take(change);
        this.complain(change.problems);
      }),
      clock.every(TICKETS_MS, () => {
        if (keyring.renewTickets(clock.now())) void this.inTurn(() => publisher.publish({ ticketKeys: keyring.tickets }));
      }),
      () => this.known.close(),
    );
  }

  /** Opens the certificate directory and publishes what is in it. @throws the system's error. */
  static async open(certDir: string, tools: HttpsTools): Promise<Https> {
    const https = new Https(new DirectoryStore(certDir, tools), tools);
    const { certificates, problems } = await https.store.list();
    await tools.publisher.publish({ ticketKeys: tools.keyring.tickets });
    https.known.take({ put: certificates, removed: [] });
    https.complain(problems);
    await https.publishing;
    return https;
  }

  /** Who is asked for certificates from now on; null: nobody. */
  adopt(authority: AuthoritySettings | null): void {
    this.automatic.adopt(authority);
  }

  routesChanged(): void {
    this.automatic.routesChanged();
  }

  /** Another process takes over, and with it the orders; or it did not, and they are ours again. */
  pause(): void {
    this.automatic.pause();
  }

  resume(): void {
    this.automatic.resume();
  }

  /** What a visitor of this host is shown, in words. */
  describe(host: string): string {
    const held = this.known.find(host);
    const attempt = this.automatic.plans(host)?.attempt;
    const failure = attempt ? `; the last try failed: ${attempt.lastError}, the next is at ${new Date(attempt.nextTry).toISOString()}` : '';
    if (held === null) return `none yet${failure}`;
    return `${held.domains.join(', ')} by ${held.issuer}, until ${new Date(held.notAfter).toISOString()} (${held.source})${failure}`;
  }

  stop(): void {
    this.automatic.pause();
    for (const end of this.ends) end();
  }

  private show(changes: readonly ShownChange[]): void {
    void this.inTurn(async () => this.tools.publisher.publish({ certificates: await this.entries(changes) }));
    for (const { name } of changes) this.automatic.certificateChanged(name);
  }

  private async entries(changes: readonly ShownChange[]): Promise<EntriesChange> {
    const upserts: { domain: string; json: string }[] = [];
    const removed: string[] = [];
    for (const { name, certificate } of changes) {
      const pair = certificate && (await this.store.get(certificate.id));
      if (pair === null) removed.push(name);
      else
        upserts.push({
          domain: name,
          json: JSON.stringify({ domains: pair.domains, certificate: pair.chain, private_key: pair.privateKey }),
        });
    }
    return { whole: false, upserts, removed };
  }

  private inTurn(publish: () => Promise<unknown>): Promise<unknown> {
    this.publishing = this.publishing
      .then(publish)
      .catch((error: unknown) => this.tools.log.error({ error: String(error) }, 'certificates are not shown everywhere'));
    return this.publishing;
  }

  private complain(problems: readonly StoreProblem[]): void {
    const before = new Set(this.problems.map(({ id, reason }) => `${id} ${reason}`));
    this.problems = problems;
    for (const { id, reason } of problems)
      if (!before.has(`${id} ${reason}`)) this.tools.log.warn({ certificate: id, reason }, 'a certificate can not be used');
  }
}
