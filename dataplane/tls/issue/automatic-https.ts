import { issuesAnyName } from '../../../shared/certificates/acme-directory.ts';
import { notIssuableReason } from '../../../shared/certificates/issuable.ts';
import type { SiteIssuance } from '../../../shared/certificates/issuer.ts';
import type { AcmeCapabilities } from '../explain-certificate.ts';
import type { StoredCertificate } from '../store/cert-store.ts';
import type { AcmeSettings } from './acme/acme-client.ts';
import { AcmeIssuer, type AcmeIssuerTools } from './acme-issuer.ts';
import { preflight, resolveName, tryConnect } from './challenges/preflight.ts';
import { Attempts } from './orders/attempts.ts';
import { type OrderPlan, troubleOf } from './orders/order-plan.ts';
import { type CurrentCertificate, type OrderResult, OrderScheduler } from './orders/order-scheduler.ts';
import { certificateId } from './renewal/certificate-id.ts';
import { RenewalInfoClient } from './renewal/renewal-info-client.ts';
import { type PolledCertificate, RenewalInfoPoller } from './renewal/renewal-info-poller.ts';

/** Table changes are batched for this long (ms) before the list of names is recomputed. */
const GATHER_MS = 20;

export type AutomaticHttpsTools = AcmeIssuerTools & {
  sites(): Iterable<SiteIssuance>;
  /** The addresses of this machine and its plain HTTP port: where a name should resolve to. */
  addresses(): readonly string[];
  httpPort(): number;
};

/** Orders a certificate over ACME for every routed name that can have one, as long as an e-mail is set. */
export class AutomaticHttps {
  private readonly tools: AutomaticHttpsTools;
  private readonly attempts: Attempts;
  private readonly issuer: AcmeIssuer;
  private readonly scheduler: OrderScheduler;
  private readonly renewalInfo: RenewalInfoPoller;
  private settings: AcmeSettings | null = null;
  /** Queries the ARI endpoint of the current authority. */
  private renewalInfoClient: RenewalInfoClient | null = null;
  private cancelGather: (() => void) | null = null;
  /** The names about to be published to the workers; null when nothing is pending. */
  private uncertified: ReadonlySet<string> | null = null;

  constructor(tools: AutomaticHttpsTools) {
    const { clock, random, log, stateDir } = tools;
    this.tools = tools;
    this.attempts = new Attempts(stateDir, clock, log);
    this.issuer = new AcmeIssuer(tools);
    this.scheduler = new OrderScheduler({
      clock,
      random,
      log,
      attempts: this.attempts,
      current: (name) => this.currentFor(name),
      issue: (name, replaces) => this.issuer.issue(name, replaces),
      hint: (name) => preflight(name, { ...tools, resolve: resolveName, tryConnect }),
      uncertified: (names) => this.publishUncertified(names),
    });
    this.renewalInfo = new RenewalInfoPoller({
      clock,
      log,
      stateDir,
      certificate: (name) => this.polledCertificate(name),
      ariIdOf: async (name) => certificateId((await tools.store.get(tools.current(name)?.id ?? ''))?.chain ?? ''),
      fetch: async (id) => (await this.renewalInfoClient?.fetch(id)) ?? null,
      changed: (name) => this.scheduler.certificateChanged(name),
    });
  }

  /** Uses this authority from now on; null: none. */
  setAcme(settings: AcmeSettings | null): void {
    const changed = JSON.stringify(settings) !== JSON.stringify(this.settings);
    this.settings = settings;
    if (changed) {
      if (settings !== null) this.attempts.setSettings(settings);
      this.issuer.setAcme(settings);
      this.renewalInfoClient = settings && new RenewalInfoClient(settings, this.tools.clock);
    }
    this.updateNames();
    if (changed) for (const name of this.scheduler.names()) this.certificateChanged(name);
  }

  /** Resolves when the workers answer the challenges of other instances that share the store. */
  answerOtherInstances(): Promise<void> {
    return this.issuer.answerOtherInstances();
  }

  /** Routes were added, removed or changed. */
  routesChanged(): void {
    this.cancelGather ??= this.tools.clock.after(GATHER_MS, () => {
      this.cancelGather = null;
      this.updateNames();
    });
  }

  /** A different certificate is now served for a name, or none. */
  certificateChanged(name: string): void {
    this.scheduler.certificateChanged(name);
    this.renewalInfo.certificateChanged(name);
  }

  /** As `OrderScheduler.retry`. */
  retry(name: string): boolean {
    return this.scheduler.retry(name);
  }

  planFor(name: string): OrderPlan | null {
    return this.scheduler.planFor(name);
  }

  /** Why a name has no certificate, or not its next one; null if nothing is known to be wrong. */
  troubleOf(name: string): string | null {
    const plan = this.planFor(name);
    return plan && troubleOf(plan);
  }

  /** Orders since the start, counted by result. */
  results(): ReadonlyMap<OrderResult, number> {
    return this.scheduler.results;
  }

  /** Names whose last order failed. */
  failing(): Iterable<string> {
    return this.scheduler.failing();
  }

  /** The names that should have a certificate. */
  names(): Iterable<string> {
    return this.scheduler.names();
  }

  /**
   * Stops placing orders because another process takes over. Orders in progress are completed. Resolves when what that process needs is on
   * disk, or can't be saved; nothing is saved after that.
   */
  async pause(): Promise<void> {
    await Promise.all([this.pauseOrders(), this.issuer.pause()]);
  }

  resume(): void {
    this.attempts.reclaim();
    this.issuer.resume();
    this.scheduler.resume();
    this.renewalInfo.resume();
  }

  /** The same because the process ends. */
  async stop(): Promise<void> {
    await Promise.all([this.pauseOrders(), this.issuer.stop()]);
  }

  private async pauseOrders(): Promise<void> {
    this.scheduler.pause();
    await Promise.all([this.attempts.release(), this.renewalInfo.pause()]);
  }

  /** Published at most once per turn of the event loop, since many names may fail together. */
  private publishUncertified(names: ReadonlySet<string>): void {
    const { publisher, clock, log } = this.tools;
    if (this.uncertified === null)
      clock.after(0, () => {
        const uncertified = [...(this.uncertified ?? [])];
        this.uncertified = null;
        publisher
          .publish({ uncertified })
          .catch((error: unknown) =>
            log.warn(
              { error: String(error) },
              'could not send the workers the names without a certificate: their handshakes wait until they time out',
            ),
          );
      });
    this.uncertified = names;
  }

  private updateNames(): void {
    const changed = this.scheduler.setNames(this.settings === null ? [] : this.certifiableNames(this.settings));
    if (changed) this.renewalInfo.setNames(this.scheduler.names());
  }

  private currentFor(name: string): CurrentCertificate | null {
    const held = this.tools.current(name);
    if (held === null || (!held.domains.includes(name) && !this.relievesOfOrder(held))) return null;
    const advice = this.renewalInfo.get(name, held.serial);
    return { ...held, automatic: held.source === 'acme', window: advice?.window ?? null, ariId: advice?.ariId ?? null };
  }

  /** A wildcard's that merely covers the name: one of ours is renewed under its own name, and one that has expired serves no visitor. */
  private relievesOfOrder({ source, notAfter }: StoredCertificate): boolean {
    return source !== 'acme' && notAfter > this.tools.clock.now();
  }

  /** Only the authority that issued a certificate is queried about its renewal. */
  private polledCertificate(name: string): PolledCertificate | null {
    const held = this.tools.current(name);
    if (held?.source !== 'acme' || this.settings === null || !held.domains.includes(name)) return null;
    return hostOf(held.order) === hostOf(this.settings.directory) ? held : null;
  }

  /** The kinds of names that the authority can issue for; null without an authority. */
  get capabilities(): AcmeCapabilities {
    return this.settings && capabilitiesOf(this.settings);
  }

  private *certifiableNames(settings: AcmeSettings): Generator<string> {
    const authority = capabilitiesOf(settings);
    for (const { domain, https } of this.tools.sites()) if (https === 'auto' && notIssuableReason(domain, authority) === null) yield domain;
  }
}

const capabilitiesOf = ({ directory, dns }: AcmeSettings) => ({ anyName: issuesAnyName(directory), dns: dns !== null });

const hostOf = (url: string | null): string | null => (url !== null && URL.canParse(url) ? new URL(url).host : null);
