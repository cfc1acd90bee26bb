import { join } from 'node:path';
import { isDefaultName } from '../../shared/certificates/default-certificate.ts';
import { notIssuableReason } from '../../shared/certificates/issuable.ts';
import { APPLIED_FOLDER } from '../../shared/name.ts';
import { CATCH_ALL } from '../../shared/values/host.ts';
import type { Publisher } from '../publish/publisher.ts';
import { AppliedCertificates } from './applied/applied-certificates.ts';
import { CertificateAdmin } from './certificate-admin.ts';
import { CertificatePublication, type ServedPair } from './certificate-publication.ts';
import { CertificateSelection } from './certificate-selection.ts';
import {
  type CertificateTrouble,
  expiryTrouble,
  expiryWarnings,
  impossibleTrouble,
  isEnding,
  type MissingCertificate,
  missingTrouble,
  missingWarnings,
  type ServedCertificate,
  type UncertifiableSite,
  uncertifiableWarnings,
  unusableTrouble,
  unusableWarnings,
} from './certificate-warnings.ts';
import { explainMissing, explainPlainHttp, isOnLoopback, siteFor } from './explain-certificate.ts';
import type { InternalCertificate } from './internal/internal-authority.ts';
import { type DomainsChange, InternalIssuer, type InternalIssuerTools } from './internal/internal-issuer.ts';
import type { AcmeSettings } from './issue/acme/acme-client.ts';
import { AutomaticHttps } from './issue/automatic-https.ts';
import { explainTrouble } from './issue/orders/order-plan.ts';
import type { Keyring } from './keyring.ts';
import type { CertificateSource, StoreContents, StoredCertificate, StoreProblem } from './store/cert-store.ts';
import { DirectoryStore } from './store/directory-store.ts';

/** How often the age of the session ticket keys is checked (ms). */
const TICKETS_MS = 3_600_000;

export type CertificateManagerTools = Omit<InternalIssuerTools, 'changed'> & {
  /** Why no certificates are ordered, regardless of the settings; null: they are ordered if there is an e-mail address. */
  readonly noAcme: string | null;
  readonly keyring: Keyring;
  readonly publisher: Publisher;
  /** The addresses of this machine and its plain HTTP port: where a name should resolve to. */
  addresses(): readonly string[];
  httpPort(): number;
};

export type CertificateStats = {
  readonly served: readonly { readonly name: string; readonly notAfter: number; readonly source: CertificateSource }[];
  readonly orders: Iterable<readonly [result: string, count: number]>;
  /** Names whose last order failed, whether or not they still have a certificate. */
  readonly failing: { readonly missing: number; readonly renewal: number };
  /** Served certificates that expire soon and have no successor. */
  readonly expiring: number;
};

/** Ties certificates together: store → selection → workers, ACME orders for what is missing, and the internal authority. */
export class CertificateManager {
  readonly admin: CertificateAdmin;
  readonly applied: AppliedCertificates;
  private readonly tools: CertificateManagerTools;
  private readonly store: DirectoryStore;
  /** Certificates applied by controllers to this data plane. Unlike the certificate directory, this store is never shared. */
  private readonly appliedStore: DirectoryStore;
  private readonly selection: CertificateSelection;
  private readonly publication: CertificatePublication;
  private readonly automatic: AutomaticHttps;
  private readonly internal: InternalIssuer;
  private readonly stops: (() => void)[] = [];
  /** Whether the internal authority also issues for sites without a setting of their own. */
  private local = false;
  /** Sites that no authority will issue for; null: to be recomputed, which is slow with 100,000 sites. */
  private uncertifiable: readonly UncertifiableSite[] | null = null;
  private stopped = false;
  private readonly problems = new Map<DirectoryStore, readonly StoreProblem[]>();

  private constructor(store: DirectoryStore, appliedStore: DirectoryStore, tools: CertificateManagerTools) {
    const { clock, publisher, keyring } = tools;
    this.tools = tools;
    this.store = store;
    this.appliedStore = appliedStore;
    this.selection = new CertificateSelection(clock);
    this.publication = new CertificatePublication({
      ...tools,
      pairOf: (certificate) => this.pairOf(certificate),
      selected: (name) => this.selection.exactly(name),
    });
    const published = async (): Promise<void> => void (await this.publication.settled);
    this.automatic = new AutomaticHttps({
      ...tools,
      instance: keyring.instance,
      store,
      published,
      current: (name) => this.currentExceptInternal(name),
    });
    this.internal = new InternalIssuer({ ...tools, changed: (change) => this.selection.update(change) });
    this.admin = new CertificateAdmin({
      store,
      holdings: () => this.holdings(),
      published,
      planFor: (name) => this.automatic.planFor(name),
      retry: (name) => this.automatic.retry(name),
      internal: () => this.internalCertificates(),
      wanted: () => this.automatic.names(),
    });
    this.applied = new AppliedCertificates({ ...tools, store: appliedStore, published, held: () => this.selection.all() });
    this.selection.onChange((changes) => {
      this.uncertifiable = null;
      this.publication.queue(changes);
      for (const { name } of changes) this.automatic.certificateChanged(name);
    });
    this.stops.push(
      ...[store, appliedStore].map((one) =>
        one.watch((change) => {
          this.selection.update(change);
          this.logProblems(one, change.problems);
        }),
      ),
      clock.every(TICKETS_MS, () => {
        if (keyring.renewTickets(clock.now())) void this.publication.inTurn(() => publisher.publish({ ticketKeys: keyring.tickets }));
      }),
      () => this.selection.close(),
    );
  }

  /** Publishes the contents of the certificate directory. Unreadable entries are logged and skipped. */
  static async open(certDir: string, tools: CertificateManagerTools): Promise<CertificateManager> {
    const applied = new DirectoryStore(join(tools.stateDir, APPLIED_FOLDER), tools, ['applied']);
    const manager = new CertificateManager(new DirectoryStore(certDir, { ...tools, instance: tools.keyring.instance }), applied, tools);
    const { certificates } = await manager.holdings();
    void manager.publication.inTurn(() => tools.publisher.publish({ ticketKeys: tools.keyring.tickets }));
    manager.selection.update({ put: certificates, removed: [] });
    await manager.publication.settled;
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

  /** Orders certificates from this authority from now on; null: none. */
  setAcme(acme: AcmeSettings | null): void {
    this.uncertifiable = null;
    this.automatic.setAcme(acme);
  }

  /**
   * Issues internal certificates for sites that request them; with `local`, also for sites without a setting of their own. Resolves when
   * the authority is open, if a site needs it.
   */
  useInternalIssuer(local: boolean): Promise<void> {
    this.local = local;
    this.uncertifiable = null;
    return this.internal.setDefault(local);
  }

  routesChanged(change: DomainsChange): void {
    this.uncertifiable = null;
    this.automatic.routesChanged();
    this.internal.routesChanged(change);
  }

  /** A handshake is waiting for this name's certificate, so it is issued before the others. */
  prioritize(name: string): void {
    this.internal.prioritize(name);
  }

  /** The root in PEM that visitors of internal sites have to trust; null if none was ever created. */
  get internalRoot(): string | null {
    return this.internal.root;
  }

  /** Failures of the internal authority, unusable files, sites without a certificate, and certificates that expire soon. */
  get warnings(): string[] {
    this.uncertifiable ??= [...this.uncertifiableSites()].filter((site) => site !== null);
    const others = [
      ...unusableWarnings([...this.problems.values()].flat()),
      ...missingWarnings([...this.missing()].filter((one) => one !== null)),
      ...uncertifiableWarnings(this.uncertifiable),
      ...expiryWarnings(this.presented(), this.tools.clock.now()),
    ];
    return this.internal.warning === null ? others : [this.internal.warning, ...others];
  }

  /** Yields everything that is wrong; null for each name without a problem, so that the caller can pause. */
  *troubles(): Generator<CertificateTrouble | null> {
    if (this.internal.warning !== null) yield { kind: 'certificates_failed', domain: null, message: this.internal.warning };
    for (const problem of [...this.problems.values()].flat()) yield unusableTrouble(problem);
    for (const one of this.missing()) yield one && missingTrouble(one);
    const now = this.tools.clock.now();
    for (const one of this.presented()) yield expiryTrouble(one, now);
    for (const site of this.uncertifiable ?? this.uncertifiableSites()) yield site && impossibleTrouble(site);
  }

  /** How many names have a certificate. */
  get served(): number {
    return this.selection.count;
  }

  /** Served certificates and order results, for metrics. */
  stats(): CertificateStats {
    const served = [...this.selection.entries()].map(([name, { notAfter, source }]) => ({ name, notAfter, source }));
    const failing = [...this.automatic.failing()];
    const missing = failing.filter((name) => this.selection.find(name) === null).length;
    const renewal = failing.length - missing;
    return { served, orders: this.automatic.results(), failing: { missing, renewal }, expiring: this.expiring(new Set(failing)) };
  }

  /** Stops ordering while another process takes over. Resolves as `AutomaticHttps.pause`. */
  pause(): Promise<void> {
    this.applied.pause();
    return this.automatic.pause();
  }

  /** Not after `stop`: a process that is told to end in the middle of a takeover takes everything back, and drains. */
  resume(): void {
    if (this.stopped) return;
    this.applied.resume();
    this.automatic.resume();
  }

  /** A human-readable description of the certificate that a visitor of this host gets, or why there is none. */
  explain(host: string): string {
    const held = this.selection.find(host);
    const plans = this.automatic.planFor(host) ?? this.automatic.planFor(host.replace(/^[^.]+/, '*'));
    const failure = plans === null ? '' : explainTrouble(plans);
    if (held !== null) return `${describe(held)}${failure}`;
    if (plans !== null) return `none yet${failure}`;
    const missing = explainMissing(siteFor(host, this.tools), this.automatic.capabilities, this.tools.noAcme);
    return this.explainDefaults() ?? `none, so there is no connection over HTTPS: ${missing}`;
  }

  /** The certificates for names without one of their own; null if there are none. */
  private explainDefaults(): string | null {
    const defaults = [...this.selection.entries()].flatMap(([name, certificate]) => (isDefaultName(name) ? [describe(certificate)] : []));
    return defaults.length === 0 ? null : `the default one of its port: ${[...new Set(defaults)].sort().join('; ')}`;
  }

  /** The same for plain HTTP. If an order has failed so far, this includes why: such a visitor is redirected to HTTPS. */
  explainPlainHttp(host: string): string {
    const isHeld = this.selection.find(host) !== null;
    const isOrdered = this.automatic.planFor(host) !== null;
    const plain = explainPlainHttp(siteFor(host, this.tools), isHeld || isOrdered, this.automatic.capabilities, this.tools.noAcme);
    return isOrdered && !isHeld ? `${plain}; over HTTPS ${this.explain(host)}` : plain;
  }

  /** Resolves as `pause`. */
  stop(): Promise<void> {
    this.stopped = true;
    this.internal.stop();
    this.applied.pause();
    this.publication.stop();
    for (const end of this.stops) end();
    return this.automatic.stop();
  }

  /** As the ACME side sees it: an internal wildcard over the name does not replace an order, nor that of an authority a renewal. */
  private currentExceptInternal(name: string): StoredCertificate | null {
    const held = this.selection.find(name);
    const current = held?.source === 'acme' || held?.source === 'internal' ? (this.selection.ownOf(name) ?? held) : held;
    return current?.source === 'internal' ? null : current;
  }

  private expiring(failing: ReadonlySet<string>): number {
    const now = this.tools.clock.now();
    let count = 0;
    for (const [name, certificate] of this.selection.entries())
      if (isEnding({ certificate, lastError: failing.has(name) ? 'failed' : null }, now) && this.isPresented(name)) count++;
    return count;
  }

  /** Whether the certificate for a name is presented: for a site, or as a default one. */
  private isPresented(name: string): boolean {
    return isDefaultName(name) || this.tools.site(name) !== null;
  }

  /** The certificates that are presented, each with its name. */
  private *presented(): Generator<ServedCertificate> {
    for (const [name, certificate] of this.selection.entries())
      if (this.isPresented(name)) yield { name, certificate, lastError: this.automatic.troubleOf(name) };
  }

  /** Sites whose orders fail and that no other certificate covers; null for each other name. */
  private *missing(): Generator<MissingCertificate | null> {
    for (const name of this.automatic.names()) {
      const lastError = this.selection.find(name) === null ? this.automatic.troubleOf(name) : null;
      yield lastError === null ? null : { name, lastError };
    }
  }

  /** Sites left without HTTPS because the authority can't issue for their name; null for each other site. */
  private *uncertifiableSites(): Generator<UncertifiableSite | null> {
    const { capabilities: orderable } = this.automatic;
    if (orderable === null || this.local) return;
    for (const { domain, https } of this.tools.sites()) {
      const isOurs = https === 'auto' && domain !== CATCH_ALL && !isOnLoopback(domain);
      const reason = isOurs ? notIssuableReason(domain, orderable) : null;
      yield reason !== null && this.selection.find(domain) === null ? { name: domain, reason } : null;
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

  private async pairOf(certificate: StoredCertificate): Promise<ServedPair | null> {
    const { source, id } = certificate;
    if (source === 'internal') return this.leafOf(certificate);
    return (source === 'applied' ? this.appliedStore : this.store).get(id);
  }

  private logProblems(store: DirectoryStore, problems: readonly StoreProblem[]): void {
    const before = new Set(this.problems.get(store)?.map(({ id, reason }) => `${id} ${reason}`));
    this.problems.set(store, problems);
    for (const { id, reason } of problems)
      if (!before.has(`${id} ${reason}`)) this.tools.log.warn({ certificate: id, reason }, 'a certificate cannot be used');
  }
}

const describe = ({ domains, issuer, notAfter, source }: StoredCertificate): string =>
  `${domains.join(', ')} by ${issuer}, until ${new Date(notAfter).toISOString()} (${source})`;
