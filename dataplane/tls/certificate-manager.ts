import { join } from 'node:path';
import { notIssuableReason } from '../../shared/certificates/issuable.ts';
import { APPLIED_FOLDER } from '../../shared/name.ts';
import { CATCH_ALL } from '../../shared/values/host.ts';
import type { EntriesChange, Publisher } from '../publish/publisher.ts';
import { AppliedCertificates } from './applied/applied-certificates.ts';
import { CertificateAdmin } from './certificate-admin.ts';
import { CertificateSelection, type SelectionChange } from './certificate-selection.ts';
import {
  expiryWarnings,
  type MissingCertificate,
  missingWarnings,
  type ServedCertificate,
  type UncertifiableSite,
  uncertifiableWarnings,
  unusableWarnings,
} from './certificate-warnings.ts';
import { explainMissing, explainPlainHttp, isOnLoopback, siteFor } from './explain-certificate.ts';
import type { InternalCertificate } from './internal/internal-authority.ts';
import { InternalIssuer, type InternalIssuerTools, type RoutesChange } from './internal/internal-issuer.ts';
import type { AcmeSettings } from './issue/acme/acme-client.ts';
import { AutomaticHttps } from './issue/automatic-https.ts';
import type { Keyring } from './keyring.ts';
import type { CertificateSource, CertStore, StoreContents, StoredCertificate, StoreProblem } from './store/cert-store.ts';
import { DirectoryStore } from './store/directory-store.ts';

/** How often the age of the keys of session tickets is looked at (ms). */
const TICKETS_MS = 3_600_000;

export type CertificateManagerTools = Omit<InternalIssuerTools, 'changed'> & {
  readonly keyring: Keyring;
  readonly publisher: Publisher;
  /** The addresses of this machine, and its port for plain HTTP: where a name should lead. */
  addresses(): readonly string[];
  httpPort(): number;
};

export type CertificateStats = {
  readonly shown: readonly { readonly name: string; readonly notAfter: number; readonly source: CertificateSource }[];
  readonly orders: Iterable<readonly [result: string, count: number]>;
};

/** Everything between certificates on disk and workers that show them: store → known → published, orders for what is missing, and our own authority. */
export class CertificateManager {
  readonly admin: CertificateAdmin;
  readonly applied: AppliedCertificates;
  private readonly tools: CertificateManagerTools;
  private readonly store: CertStore;
  /** What controllers brought to this very data plane: others may share the certificate directory, but not what it is told. */
  private readonly appliedStore: CertStore;
  private readonly selection: CertificateSelection;
  private readonly automatic: AutomaticHttps;
  private readonly internal: InternalIssuer;
  private readonly stops: (() => void)[] = [];
  /** Names that are shown another certificate than the workers were told last. */
  private readonly unpublished = new Map<string, StoredCertificate | null>();
  /** Whether our own authority sees to sites that say nothing. */
  private local = false;
  /** Sites that no authority will ever issue for; null: to be worked out again, which takes its time with 100,000 of them. */
  private uncertifiable: readonly UncertifiableSite[] | null = null;
  /** Changes are published one after the other. */
  private publishing: Promise<unknown> = Promise.resolve();
  private readonly problems = new Map<CertStore, readonly StoreProblem[]>();

  private constructor(store: CertStore, appliedStore: CertStore, tools: CertificateManagerTools) {
    const { clock, publisher, keyring } = tools;
    this.tools = tools;
    this.store = store;
    this.appliedStore = appliedStore;
    this.selection = new CertificateSelection(clock);
    const shown = async (): Promise<void> => void (await this.publishing);
    this.automatic = new AutomaticHttps({
      ...tools,
      instance: keyring.instance,
      store,
      published: shown,
      current: (name) => this.currentExceptInternal(name),
    });
    this.internal = new InternalIssuer({ ...tools, changed: (change) => this.selection.update(change) });
    this.admin = new CertificateAdmin({
      store,
      holdings: () => this.holdings(),
      published: shown,
      planFor: (name) => this.automatic.planFor(name),
      retry: (name) => this.automatic.retry(name),
      internal: () => this.internalCertificates(),
      wanted: () => this.automatic.names(),
    });
    this.applied = new AppliedCertificates({ store: appliedStore, published: shown, held: () => this.selection.all() });
    this.selection.onChange((changes) => this.queueChanges(changes));
    this.stops.push(
      ...[store, appliedStore].map((one) =>
        one.watch((change) => {
          this.selection.update(change);
          this.logProblems(one, change.problems);
        }),
      ),
      clock.every(TICKETS_MS, () => {
        if (keyring.renewTickets(clock.now())) void this.inTurn(() => publisher.publish({ ticketKeys: keyring.tickets }));
      }),
      () => this.selection.close(),
    );
  }

  /** Publishes what is in the certificate directory. What can't be read of it is told, and costs nothing else. */
  static async open(certDir: string, tools: CertificateManagerTools): Promise<CertificateManager> {
    const brought = new DirectoryStore(join(tools.stateDir, APPLIED_FOLDER), tools, ['applied']);
    const manager = new CertificateManager(new DirectoryStore(certDir, { ...tools, instance: tools.keyring.instance }), brought, tools);
    const { certificates } = await manager.holdings();
    void manager.inTurn(() => tools.publisher.publish({ ticketKeys: tools.keyring.tickets }));
    manager.selection.update({ put: certificates, removed: [] });
    await manager.publishing;
    await manager.automatic.answerOtherInstances();
    return manager;
  }

  private async holdings(): Promise<StoreContents> {
    const all = [];
    for (const store of [this.store, this.appliedStore]) {
      const one = await store.list();
      this.logProblems(store, one.problems);
      all.push(one);
    }
    return { certificates: all.flatMap((one) => one.certificates), problems: all.flatMap((one) => one.problems) };
  }

  /** Who is asked for certificates from now on; null: nobody. */
  setAcme(acme: AcmeSettings | null): void {
    this.uncertifiable = null;
    this.automatic.setAcme(acme);
  }

  /** Our own authority is for sites that ask for it; `local`: also for those that say nothing. Resolves when it is open, if any site needs it. */
  useInternalIssuer(local: boolean): Promise<void> {
    this.local = local;
    this.uncertifiable = null;
    return this.internal.setDefault(local);
  }

  routesChanged(change: RoutesChange): void {
    this.uncertifiable = null;
    this.automatic.routesChanged();
    this.internal.routesChanged(change);
  }

  /** A visitor waits for the certificate of this name: of many that are to be made, it is the next. */
  prioritize(name: string): void {
    this.internal.prioritize(name);
  }

  /** PEM of what visitors of internal sites have to trust; null where there never was one. */
  get internalRoot(): string | null {
    return this.internal.root;
  }

  /** Why internal sites have no certificates, what can't be used, which sites have none, or never will, and which are about to end. */
  get warnings(): string[] {
    this.uncertifiable ??= [...this.uncertifiableSites()];
    const others = [
      ...unusableWarnings([...this.problems.values()].flat()),
      ...missingWarnings(this.missing()),
      ...uncertifiableWarnings(this.uncertifiable),
      ...expiryWarnings(this.shown(), this.tools.clock.now()),
    ];
    return this.internal.warning === null ? others : [this.internal.warning, ...others];
  }

  /** What there is and how orders ended, for metrics. */
  stats(): CertificateStats {
    const shown = [...this.selection.entries()].map(([name, { notAfter, source }]) => ({ name, notAfter, source }));
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
  explain(host: string): string {
    const held = this.selection.find(host);
    const plans = this.automatic.planFor(host) ?? this.automatic.planFor(host.replace(/^[^.]+/, '*'));
    const attempt = plans?.attempt;
    const failure = attempt ? `; the last try failed: ${attempt.lastError}, the next is at ${new Date(attempt.nextTry).toISOString()}` : '';
    if (held === null && plans === null)
      return `none, so there is no connection over HTTPS: ${explainMissing(siteFor(host, this.tools), this.automatic.capabilities)}`;
    if (held === null) return `none yet${failure}`;
    return `${held.domains.join(', ')} by ${held.issuer}, until ${new Date(held.notAfter).toISOString()} (${held.source})${failure}`;
  }

  /** Why a visitor without TLS is shown none, in words; and where one was ordered and has not come, what hinders it: such a visitor is sent to HTTPS. */
  explainPlainHttp(host: string): string {
    const isHeld = this.selection.find(host) !== null;
    const isOrdered = this.automatic.planFor(host) !== null;
    const plain = explainPlainHttp(siteFor(host, this.tools), isHeld || isOrdered, this.automatic.capabilities);
    return isOrdered && !isHeld ? `${plain}; over HTTPS ${this.explain(host)}` : plain;
  }

  stop(): void {
    this.automatic.stop();
    this.internal.stop();
    for (const end of this.stops) end();
  }

  /** What a name is shown, as whoever orders certificates sees it: one of ours for the wildcard over it is no reason to order none. */
  private currentExceptInternal(name: string): StoredCertificate | null {
    const held = this.selection.find(name);
    return held?.source === 'internal' ? null : held;
  }

  /** What sites are shown. */
  private *shown(): Generator<ServedCertificate> {
    for (const [name, certificate] of this.selection.entries())
      if (this.tools.site(name) !== null) yield { name, certificate, lastError: this.automatic.planFor(name)?.attempt?.lastError ?? null };
  }

  /** Sites whose orders fail, and that no other certificate covers. */
  private *missing(): Generator<MissingCertificate> {
    for (const name of this.automatic.names()) {
      const lastError = this.selection.find(name) === null ? this.automatic.planFor(name)?.attempt?.lastError : undefined;
      if (lastError !== undefined) yield { name, lastError };
    }
  }

  /** Sites that say nothing and that no authority issues for, while others have their certificates by themselves. */
  private *uncertifiableSites(): Generator<UncertifiableSite> {
    const { capabilities: orderable } = this.automatic;
    if (orderable === null || this.local) return;
    for (const { domain, https } of this.tools.sites()) {
      if (https !== 'auto' || domain === CATCH_ALL || isOnLoopback(domain)) continue;
      const reason = notIssuableReason(domain, orderable);
      if (reason !== null && this.selection.find(domain) === null) yield { name: domain, reason };
    }
  }

  private *internalCertificates(): Generator<StoredCertificate & { renewAt: number }> {
    for (const certificate of this.selection.all()) {
      const leaf = certificate.source === 'internal' ? this.leafOf(certificate) : null;
      if (leaf !== null) yield { ...certificate, renewAt: leaf.renewAt };
    }
  }

  private leafOf({ domains: [name = ''] }: StoredCertificate): InternalCertificate | null {
    return this.internal.get(name);
  }

  /** What changes while workers are being told is told them together: thousands of names may come one by one. */
  private queueChanges(changes: readonly SelectionChange[]): void {
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
      const store = certificate?.source === 'applied' ? this.appliedStore : this.store;
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

  private logProblems(store: CertStore, problems: readonly StoreProblem[]): void {
    const before = new Set(this.problems.get(store)?.map(({ id, reason }) => `${id} ${reason}`));
    this.problems.set(store, problems);
    for (const { id, reason } of problems)
      if (!before.has(`${id} ${reason}`)) this.tools.log.warn({ certificate: id, reason }, 'a certificate can not be used');
  }
}
