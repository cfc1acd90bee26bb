import { issuesAnyName } from '../../../shared/certificates/acme-directory.ts';
import { whyNotCertifiable } from '../../../shared/certificates/issuable.ts';
import type { Site } from '../../../shared/certificates/issuer.ts';
import type { Orderable } from '../explain-certificate.ts';
import type { AuthoritySettings } from './acme/acme-client.ts';
import { Ordering, type OrderingTools } from './acme-issuer.ts';
import { knock, preflight, resolveName } from './challenges/preflight.ts';
import { Attempts } from './orders/attempts.ts';
import { type Held, Issuer, type OrderResult } from './orders/order-scheduler.ts';
import { certificateId } from './renewal/certificate-id.ts';
import { RenewalInformation } from './renewal/renewal-info-client.ts';
import { RenewalAdvice, type Subject } from './renewal/renewal-info-poller.ts';

/** Changes of the table are gathered for this long (ms) before the names are gone through again. */
const GATHER_MS = 20;

export type AutomaticTools = OrderingTools & {
  sites(): Iterable<Site>;
  /** The addresses of this machine, and its port for plain HTTP: where a name should lead. */
  addresses(): readonly string[];
  httpPort(): number;
};

/** Certificates for every routed name that may have one, from an authority that speaks ACME, as long as there is an e-mail. */
export class AutomaticHttps {
  private readonly tools: AutomaticTools;
  private readonly attempts: Attempts;
  private readonly ordering: Ordering;
  private readonly issuer: Issuer;
  private readonly advice: RenewalAdvice;
  private settings: AuthoritySettings | null = null;
  /** Whom renewals are asked about. */
  private information: RenewalInformation | null = null;
  private cancelGather: (() => void) | null = null;
  /** What the workers are about to be told; null: nothing. */
  private uncertified: readonly string[] | null = null;

  constructor(tools: AutomaticTools) {
    const { clock, random, log, stateDir } = tools;
    this.tools = tools;
    this.attempts = new Attempts(stateDir, clock, log);
    this.ordering = new Ordering(tools);
    this.issuer = new Issuer({
      clock,
      random,
      log,
      attempts: this.attempts,
      held: (name) => this.held(name),
      order: (name, replaces) => this.ordering.order(name, replaces),
      hint: (name) => preflight(name, { ...tools, resolve: resolveName, knock }),
      uncertified: (names) => this.giveUp(names),
    });
    this.advice = new RenewalAdvice({
      clock,
      log,
      stateDir,
      subject: (name) => this.subject(name),
      identify: async (name) => certificateId((await tools.store.get(tools.held(name)?.id ?? ''))?.chain ?? ''),
      ask: async (id) => (await this.information?.ask(id)) ?? null,
      changed: (name) => this.issuer.changed(name),
    });
  }

  /** The authority that is to be asked from now on; null: none. */
  adopt(settings: AuthoritySettings | null): void {
    const another = JSON.stringify(settings) !== JSON.stringify(this.settings);
    this.settings = settings;
    if (another) {
      if (settings !== null) this.attempts.under(settings);
      this.ordering.adopt(settings);
      this.information = settings && new RenewalInformation(settings, this.tools.clock);
    }
    this.want();
    if (another) for (const name of this.issuer.names()) this.certificateChanged(name);
  }

  /** Resolves when the workers answer what others who share the store await. */
  answerOthers(): Promise<void> {
    return this.ordering.answerOthers();
  }

  /** Routes have come, gone or changed. */
  routesChanged(): void {
    this.cancelGather ??= this.tools.clock.after(GATHER_MS, () => {
      this.cancelGather = null;
      this.want();
    });
  }

  /** Another certificate is held for a name, or none any more. */
  certificateChanged(name: string): void {
    this.issuer.changed(name);
    this.advice.certificateChanged(name);
  }

  /** As `Issuer.retry`. */
  retry(name: string): boolean {
    return this.issuer.retry(name);
  }

  plans(name: string): ReturnType<Issuer['plans']> {
    return this.issuer.plans(name);
  }

  /** How many orders ended how, since the start. */
  results(): ReadonlyMap<OrderResult, number> {
    return this.issuer.results;
  }

  /** The names that are to have certificates. */
  wanted(): Iterable<string> {
    return this.issuer.names();
  }

  /** Nothing more is ordered: the process ends, or another one takes over. What is under way is finished. */
  pause(): void {
    this.issuer.pause();
    this.advice.pause();
  }

  resume(): void {
    this.issuer.resume();
    this.advice.resume();
  }

  stop(): void {
    this.pause();
    this.ordering.stop();
  }

  /** Told to the workers once a turn: many names may fail together. */
  private giveUp(names: readonly string[]): void {
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

  private want(): void {
    const another = this.issuer.want(this.settings === null ? [] : this.names(this.settings));
    if (another) this.advice.follow(this.issuer.names());
  }

  private held(name: string): Held | null {
    const held = this.tools.held(name);
    // What only covers the name is another's: the wildcard over it has a life of its own.
    if (held === null || (held.source === 'acme' && !held.domains.includes(name))) return null;
    const told = this.advice.about(name, held.serial);
    return { ...held, automatic: held.source === 'acme', window: told?.window ?? null, ariId: told?.ariId ?? null };
  }

  /** Whoever issued a certificate is asked about it, and nobody else. */
  private subject(name: string): Subject | null {
    const held = this.tools.held(name);
    if (held?.source !== 'acme' || this.settings === null || !held.domains.includes(name)) return null;
    return hostOf(held.order) === hostOf(this.settings.directory) ? held : null;
  }

  /** For which names the authority may issue; null: nobody is asked. */
  get orderable(): Orderable {
    return this.settings && orderableOf(this.settings);
  }

  private *names(settings: AuthoritySettings): Generator<string> {
    const authority = orderableOf(settings);
    for (const { domain, https } of this.tools.sites()) if (https === 'auto' && whyNotCertifiable(domain, authority) === null) yield domain;
  }
}

const orderableOf = ({ directory, dns }: AuthoritySettings) => ({ anyName: issuesAnyName(directory), dns: dns !== null });

const hostOf = (url: string | null): string | null => (url !== null && URL.canParse(url) ? new URL(url).host : null);
