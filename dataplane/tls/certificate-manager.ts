import { join } from 'node:path';
import { whyNotCertifiable } from '../../shared/certificates/issuable.ts';
import { APPLIED_FOLDER } from '../../shared/name.ts';
import { CATCH_ALL } from '../../shared/values/host.ts';
import type { EntriesChange, Publisher } from '../publish/publisher.ts';
import { AppliedCertificates } from './applied/applied-certificates.ts';
import { CertificateDesk } from './certificate-admin.ts';
import { KnownCertificates, type ShownChange } from './certificate-selection.ts';
import { endingSoon, type Missing, missingNow, onHttpForLack, type Shown, type Uncertifiable, unusable } from './certificate-warnings.ts';
import { isOnLoopback, onHttp, siteFor, whyNone } from './explain-certificate.ts';
import type { InternalCertificate } from './internal/internal-authority.ts';
import { InternalSites, type InternalTools, type RoutesChange } from './internal/internal-issuer.ts';
import type { AuthoritySettings } from './issue/acme/acme-client.ts';
import { AutomaticHttps } from './issue/automatic-https.ts';
import type { Keyring } from './keyring.ts';
import type { CertificateSource, CertStore, Holdings, StoredCertificate, StoreProblem } from './store/cert-store.ts';
import { DirectoryStore } from './store/directory-store.ts';

/** How often the age of the keys of session tickets is looked at (ms). */
const TICKETS_MS = 3_600_000;

export type HttpsTools = Omit<InternalTools, 'changed'> & {
  readonly keyring: Keyring;
  readonly publisher: Publisher;
  /** The addresses of this machine, and its port for plain HTTP: where a name should lead. */
  addresses(): readonly string[];
  httpPort(): number;
};

export type CertificatesReading = {
  readonly shown: readonly { readonly name: string; readonly notAfter: number; readonly source: CertificateSource }[];
  readonly orders: Iterable<readonly [result: string, count: number]>;
};

/** Everything between certificates on disk and workers that show them: store → known → published, orders for what is missing, and our own authority. */
export class Https {
  readonly desk: CertificateDesk;
  readonly applied: AppliedCertificates;
  private readonly tools: HttpsTools;
  private readonly store: CertStore;
  /** What controllers brought to this very data plane: others may share the certificate directory, but not what it is told. */
  private readonly broughtStore: CertStore;
  private readonly known: KnownCertificates;
  private readonly automatic: AutomaticHttps;
  private readonly internal: InternalSites;
  private readonly ends: (() => void)[] = [];
  /** Names that are shown another certificate than the workers were told last. */
  private readonly unpublished = new Map<string, StoredCertificate | null>();
  /** Whether our own authority sees to sites that say nothing. */
  private local = false;
  /** Sites that no authority will ever issue for; null: to be worked out again, which takes its time with 100,000 of them. */
  private uncertifiable: readonly Uncertifiable[] | null = null;
  /** Changes are published one after the other. */
  private publishing: Promise<unknown> = Promise.resolve();
  private readonly problems = new Map<CertStore, readonly StoreProblem[]>();

  private constructor(store: CertStore, broughtStore: CertStore, tools: HttpsTools) {
    const { clock, publisher, keyring } = tools;
    this.tools = tools;
    this.store = store;
    this.broughtStore = broughtStore;
    this.known = new KnownCertificates(clock);
    const shown = async (): Promise<void> => void (await this.publishing);
    this.automatic = new AutomaticHttps({ ...tools, instance: keyring.instance, store, shown, held: (name) => this.held(name) });
    this.internal = new InternalSites({ ...tools, changed: (change) => this.known.take(change) });
    this.desk = new CertificateDesk({
      store,
      holdings: () => this.holdings(),
      shown,
      plans: (name) => this.automatic.plans(name),
      retry: (name) => this.automatic.retry(name),
      internal: () => this.own(),
      wanted: () => this.automatic.wanted(),
    });
    this.applied = new AppliedCertificates({ store: broughtStore, shown, held: () => this.known.all() });
    this.known.onChange((changes) => this.show(changes));
    this.ends.push(
      ...[store, broughtStore].map((one) =>
        one.watch((change) => {
          this.known.take(change);
          this.complain(one, change.problems);
        }),
      ),
      clock.every(TICKETS_MS, () => {
        if (keyring.renewTickets(clock.now())) void this.inTurn(() => publisher.publish({ ticketKeys: keyring.tickets }));
      }),
      () => this.known.close(),
    );
  }

  /** Publishes what is in the certificate directory. What can't be read of it is told, and costs nothing else. */
  static async open(certDir: string, tools: HttpsTools): Promise<Https> {
    const brought = new DirectoryStore(join(tools.stateDir, APPLIED_FOLDER), tools, ['applied']);
    const https = new Https(new DirectoryStore(certDir, { ...tools, instance: tools.keyring.instance }), brought, tools);
    const { certificates } = await https.holdings();
    void https.inTurn(() => tools.publisher.publish({ ticketKeys: tools.keyring.tickets }));
    https.known.take({ put: certificates, removed: [] });
    await https.publishing;
    await https.automatic.answerOthers();
    return https;
  }

  private async holdings(): Promise<Holdings> {
    const all = [];
    for (const store of [this.store, this.broughtStore]) {
      const one = await store.list();
      this.complain(store, one.problems);
      all.push(one);
    }
    return { certificates: all.flatMap((one) => one.certificates), problems: all.flatMap((one) => one.problems) };
  }

  /** Who is asked for certificates from now on; null: nobody. */
  adopt(authority: AuthoritySettings | null): void {
    this.uncertifiable = null;
    this.automatic.adopt(authority);
  }

  /** Our own authority is for sites that ask for it; `local`: also for those that say nothing. Resolves when it is open, if any site needs it. */
  certifyInternally(local: boolean): Promise<void> {
    this.local = local;
    this.uncertifiable = null;
    return this.internal.adopt(local);
  }

  routesChanged(change: RoutesChange): void {
    this.uncertifiable = null;
    this.automatic.routesChanged();
    this.internal.routesChanged(change);
  }

  /** A visitor waits for the certificate of this name: of many that are to be made, it is the next. */
  hurry(name: string): void {
    this.internal.hurry(name);
  }

  /** PEM of what visitors of internal sites have to trust; null where there never was one. */
  get root(): string | null {
    return this.internal.root;
  }

  /** Why internal sites have no certificates, what can't be used, which sites have none, or never will, and which are about to end. */
  get warnings(): string[] {
    this.uncertifiable ??= [...this.neverCertified()];
    const others = [
      ...unusable([...this.problems.values()].flat()),
      ...missingNow(this.missing()),
      ...onHttpForLack(this.uncertifiable),
      ...endingSoon(this.shown(), this.tools.clock.now()),
    ];
    return this.internal.warning === null ? others : [this.internal.warning, ...others];
  }

  /** What there is and how orders ended, for metrics. */
  reading(): CertificatesReading {
    const shown = [...this.known.everyShown()].map(([name, { notAfter, source }]) => ({ name, notAfter, source }));
    return { shown, orders: this.automatic.results() };
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
    const plans = this.automatic.plans(host) ?? this.automatic.plans(host.replace(/^[^.]+/, '*'));
    const attempt = plans?.attempt;
    const failure = attempt ? `; the last try failed: ${attempt.lastError}, the next is at ${new Date(attempt.nextTry).toISOString()}` : '';
    if (held === null && plans === null)
      return `none, so there is no connection over HTTPS: ${whyNone(siteFor(host, this.tools), this.automatic.orderable)}`;
    if (held === null) return `none yet${failure}`;
    return `${held.domains.join(', ')} by ${held.issuer}, until ${new Date(held.notAfter).toISOString()} (${held.source})${failure}`;
  }

  /** Why a visitor without TLS is shown none, in words; and where one was ordered and has not come, what hinders it: such a visitor is sent to HTTPS. */
  describePlain(host: string): string {
    const isHeld = this.known.find(host) !== null;
    const isOrdered = this.automatic.plans(host) !== null;
    const plain = onHttp(siteFor(host, this.tools), isHeld || isOrdered, this.automatic.orderable);
    return isOrdered && !isHeld ? `${plain}; over HTTPS ${this.describe(host)}` : plain;
  }

  stop(): void {
    this.automatic.stop();
    this.internal.stop();
    for (const end of this.ends) end();
  }

  /** What a name is shown, as whoever orders certificates sees it: one of ours for the wildcard over it is no reason to order none. */
  private held(name: string): StoredCertificate | null {
    const held = this.known.find(name);
    return held?.source === 'internal' ? null : held;
  }

  /** What sites are shown. */
  private *shown(): Generator<Shown> {
    for (const [name, certificate] of this.known.everyShown())
      if (this.tools.site(name) !== null) yield { name, certificate, lastError: this.automatic.plans(name)?.attempt?.lastError ?? null };
  }

  /** Sites whose orders fail, and that no other certificate covers. */
  private *missing(): Generator<Missing> {
    for (const name of this.automatic.wanted()) {
      const lastError = this.known.find(name) === null ? this.automatic.plans(name)?.attempt?.lastError : undefined;
      if (lastError !== undefined) yield { name, lastError };
    }
  }

  /** Sites that say nothing and that no authority issues for, while others have their certificates by themselves. */
  private *neverCertified(): Generator<Uncertifiable> {
    const { orderable } = this.automatic;
    if (orderable === null || this.local) return;
    for (const { domain, https } of this.tools.sites()) {
      if (https !== 'auto' || domain === CATCH_ALL || isOnLoopback(domain)) continue;
      const reason = whyNotCertifiable(domain, orderable);
      if (reason !== null && this.known.find(domain) === null) yield { name: domain, reason };
    }
  }

  private *own(): Generator<StoredCertificate & { renewAt: number }> {
    for (const certificate of this.known.all()) {
      const leaf = certificate.source === 'internal' ? this.leafOf(certificate) : null;
      if (leaf !== null) yield { ...certificate, renewAt: leaf.renewAt };
    }
  }

  private leafOf({ domains: [name = ''] }: StoredCertificate): InternalCertificate | null {
    return this.internal.get(name);
  }

  /** What changes while workers are being told is told them together: thousands of names may come one by one. */
  private show(changes: readonly ShownChange[]): void {
    this.uncertifiable = null;
    if (this.unpublished.size === 0) void this.inTurn(() => this.publishChanges());
    for (const { name, certificate } of changes) this.unpublished.set(name, certificate);
    for (const { name } of changes) this.automatic.certificateChanged(name);
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
      const internal = certificate?.source === 'internal';
      const brought = certificate?.source === 'file' || certificate?.source === 'pushed';
      const store = certificate?.source === 'applied' ? this.broughtStore : this.store;
      const pair = certificate && (internal ? this.leafOf(certificate) : await store.get(certificate.id));
      if (pair === null) removed.push(name);
      else {
        const { domains, chain, privateKey } = pair;
        upserts.push({
          domain: name,
          json: JSON.stringify({
            domains,
            certificate: chain,
            private_key: privateKey,
            ...(internal && { internal }),
            ...(brought && { brought }),
          }),
        });
      }
    }
    return { whole: false, upserts, removed };
  }

  private inTurn(publish: () => Promise<unknown>): Promise<unknown> {
    this.publishing = this.publishing
      .then(publish)
      .catch((error: unknown) => this.tools.log.error({ error: String(error) }, 'certificates are not shown everywhere'));
    return this.publishing;
  }

  private complain(store: CertStore, problems: readonly StoreProblem[]): void {
    const before = new Set(this.problems.get(store)?.map(({ id, reason }) => `${id} ${reason}`));
    this.problems.set(store, problems);
    for (const { id, reason } of problems)
      if (!before.has(`${id} ${reason}`)) this.tools.log.warn({ certificate: id, reason }, 'a certificate can not be used');
  }
}
