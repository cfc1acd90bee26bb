import { issuesAnyName } from '../../../shared/certificates/acme-directory.ts';
import { notIssuableReason } from '../../../shared/certificates/issuable.ts';
import type { Site } from '../../../shared/certificates/issuer.ts';
import type { AcmeCapabilities } from '../explain-certificate.ts';
import type { AcmeSettings } from './acme/acme-client.ts';
import { AcmeIssuer, type AcmeIssuerTools } from './acme-issuer.ts';
import { preflight, resolveName, tryConnect } from './challenges/preflight.ts';
import { Attempts } from './orders/attempts.ts';
import { type CurrentCertificate, type OrderResult, OrderScheduler } from './orders/order-scheduler.ts';
import { certificateId } from './renewal/certificate-id.ts';
import { RenewalInfoClient } from './renewal/renewal-info-client.ts';
import { type PolledCertificate, RenewalInfoPoller } from './renewal/renewal-info-poller.ts';

/** Changes of the table are gathered for this long (ms) before the names are gone through again. */
const GATHER_MS = 20;

export type AutomaticHttpsTools = AcmeIssuerTools & {
  sites(): Iterable<Site>;
  /** The addresses of this machine, and its port for plain HTTP: where a name should lead. */
  addresses(): readonly string[];
  httpPort(): number;
};

/** Certificates for every routed name that may have one, from an authority that speaks ACME, as long as there is an e-mail. */
export class AutomaticHttps {
  private readonly tools: AutomaticHttpsTools;
  private readonly attempts: Attempts;
  private readonly issuer: AcmeIssuer;
  private readonly scheduler: OrderScheduler;
  private readonly renewalInfo: RenewalInfoPoller;
  private settings: AcmeSettings | null = null;
  /** Whom renewals are asked about. */
  private renewalInfoClient: RenewalInfoClient | null = null;
  private cancelGather: (() => void) | null = null;
  /** What the workers are about to be told; null: nothing. */
  private uncertified: readonly string[] | null = null;

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

  /** The authority that is to be asked from now on; null: none. */
  setAcme(settings: AcmeSettings | null): void {
    const another = JSON.stringify(settings) !== JSON.stringify(this.settings);
    this.settings = settings;
    if (another) {
      if (settings !== null) this.attempts.setSettings(settings);
      this.issuer.setAcme(settings);
      this.renewalInfoClient = settings && new RenewalInfoClient(settings, this.tools.clock);
    }
    this.updateNames();
    if (another) for (const name of this.scheduler.names()) this.certificateChanged(name);
  }

  /** Resolves when the workers answer what others who share the store await. */
  answerOtherInstances(): Promise<void> {
    return this.issuer.answerOtherInstances();
  }

  /** Routes have come, gone or changed. */
  routesChanged(): void {
    this.cancelGather ??= this.tools.clock.after(GATHER_MS, () => {
      this.cancelGather = null;
      this.updateNames();
    });
  }

  /** Another certificate is held for a name, or none any more. */
  certificateChanged(name: string): void {
    this.scheduler.certificateChanged(name);
    this.renewalInfo.certificateChanged(name);
  }

  /** As `OrderScheduler.retry`. */
  retry(name: string): boolean {
    return this.scheduler.retry(name);
  }

  planFor(name: string): ReturnType<OrderScheduler['planFor']> {
    return this.scheduler.planFor(name);
  }

  /** How many orders ended how, since the start. */
  results(): ReadonlyMap<OrderResult, number> {
    return this.scheduler.results;
  }

  /** The names that are to have certificates. */
  names(): Iterable<string> {
    return this.scheduler.names();
  }

  /** Nothing more is ordered: the process ends, or another one takes over. What is under way is finished. */
  pause(): void {
    this.scheduler.pause();
    this.renewalInfo.pause();
  }

  resume(): void {
    this.scheduler.resume();
    this.renewalInfo.resume();
  }

  stop(): void {
    this.pause();
    this.issuer.stop();
  }

  /** Told to the workers once a turn: many names may fail together. */
  private publishUncertified(names: readonly string[]): void {
    const { publisher, clock, log } = this.tools;
    if (this.uncertified === null)
      clock.after(0, () => {
        const uncertified = this.uncertified ?? [];
        this.uncertified = null;
        publisher
          .publish({ uncertified })
          .catch((error: unknown) => log.warn({ error: String(error) }, 'handshakes wait for certificates in vain'));
      });
    this.uncertified = names;
  }

  private updateNames(): void {
    const another = this.scheduler.setNames(this.settings === null ? [] : this.certifiableNames(this.settings));
    if (another) this.renewalInfo.setNames(this.scheduler.names());
  }

  private currentFor(name: string): CurrentCertificate | null {
    const held = this.tools.current(name);
    // What only covers the name is another's: the wildcard over it has a life of its own.
    if (held === null || (held.source === 'acme' && !held.domains.includes(name))) return null;
    const told = this.renewalInfo.get(name, held.serial);
    return { ...held, automatic: held.source === 'acme', window: told?.window ?? null, ariId: told?.ariId ?? null };
  }

  /** Whoever issued a certificate is asked about it, and nobody else. */
  private polledCertificate(name: string): PolledCertificate | null {
    const held = this.tools.current(name);
    if (held?.source !== 'acme' || this.settings === null || !held.domains.includes(name)) return null;
    return hostOf(held.order) === hostOf(this.settings.directory) ? held : null;
  }

  /** For which names the authority may issue; null: nobody is asked. */
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
