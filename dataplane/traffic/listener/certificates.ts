import { isIP } from 'node:net';
import { defaultNameOf, isDefaultName } from '../../../shared/certificates/default-certificate.ts';
import { ANY_PORT, HostIndex } from '../match/host-index.ts';
import type { ClientAuth } from '../policy/client-certificate/client-auth.ts';
import type { EntriesPublication, PublishedChallenge } from '../protocol.ts';

/** A certificate as published under each name that it is used for. PEM, the chain starting with the leaf. */
export type PublishedCertificate = {
  /** The names it is valid for; wildcards as written. Lower case. */
  readonly domains: readonly string[];
  readonly certificate: string;
  readonly private_key: string;
  /** Whether it was issued by our own authority, which browsers trust only if configured to. */
  readonly internal?: boolean;
  /** Whether it was put into the certificate directory or uploaded. */
  readonly provided?: boolean;
  /** Whether it is the response to an authority's challenge (RFC 8737), and not valid for anything else. */
  readonly challenge?: boolean;
};

/** The maximum number of rules for which variants of one certificate are cached. Beyond that, they are rebuilt. */
const MAX_RULES = 100;

/** The certificate and rule presented for a name, read on first use. */
export class PresentedCertificate {
  /** It is presented on every port. */
  readonly ports = null;
  private readonly exact: ReadonlySet<string>;
  readonly published: PublishedCertificate;
  /** Whether Strict-Transport-Security may be sent: not with a certificate that was only meant for this machine. */
  readonly allowsHsts: boolean;
  /** Whether it was provided for the names that it is used for. */
  readonly provided: boolean;
  /** The client certificate rule, or null for none. */
  readonly auth: ClientAuth | null;
  readonly clientRule: string;
  private readonly byRule = new Map<string, PresentedCertificate>();
  /** For a default certificate: whether a host has another one. null for the others. */
  private readonly hasOther: ((host: string) => boolean) | null;

  constructor(published: PublishedCertificate, auth: ClientAuth | null = null, hasOther: ((host: string) => boolean) | null = null) {
    this.published = published;
    this.hasOther = hasOther;
    this.auth = auth;
    this.clientRule = auth === null ? '' : auth.rule;
    this.provided = published.provided === true;
    this.exact = new Set(published.domains);
    this.allowsHsts = published.internal !== true && !published.domains.some((name) => name === 'localhost' || isIP(name) !== 0);
  }

  /** The same certificate for sites that require client certificates. Equal for equal rules. */
  under(auth: ClientAuth): PresentedCertificate {
    const key = `${auth.rule} ${auth.domain}`;
    const known = this.byRule.get(key);
    if (known !== undefined) return known;
    if (this.byRule.size >= MAX_RULES) this.byRule.clear();
    const byRule = new PresentedCertificate(this.published, auth, this.hasOther);
    this.byRule.set(key, byRule);
    return byRule;
  }

  /**
   * Whether a client may request this host on a connection with this certificate: RFC 9110 7.4, RFC 6125 6.4.3 (a wildcard is one label). A
   * default certificate is presented for every host without another one.
   */
  covers(host: string): boolean {
    if (this.hasOther !== null) return !this.hasOther(host);
    if (this.exact.has(host)) return true;
    const dot = host.indexOf('.');
    return dot > 0 && this.exact.has(`*${host.slice(dot)}`);
  }
}

/** The certificates of one worker, by name. */
export class Certificates {
  private readonly index = new HostIndex<PresentedCertificate>(
    (name, json) => new PresentedCertificate(JSON.parse(json), null, isDefaultName(name) ? this.isNamed : null),
  );
  private readonly managedName: (name: string) => string | null;
  private uncertified: ReadonlySet<string> = new Set();
  private challenges: ReadonlyMap<string, PresentedCertificate> = new Map();

  /**
   * `managedName` returns the name under which a certificate for a host is managed: the host itself or the wildcard over it. null if none
   * is.
   */
  constructor(managedName: (name: string) => string | null) {
    this.managedName = managedName;
  }

  async apply(change: EntriesPublication, nextTurn: () => Promise<void>): Promise<void> {
    await this.index.apply(change, nextTurn);
  }

  /** The names of default certificates are not for clients, whose ClientHello may name anything. */
  find(name: string): PresentedCertificate | null {
    return isDefaultName(name) ? null : this.index.find(name, ANY_PORT);
  }

  private readonly isNamed = (host: string): boolean => this.find(host) !== null;

  /** The certificate for names without one of their own, at an address and port of this machine. */
  findDefault(address: string, port: number): PresentedCertificate | null {
    return this.index.at(defaultNameOf({ address, port })) ?? this.index.at(defaultNameOf({ address: null, port }));
  }

  /** Replaces all pending challenges. */
  applyChallenges(challenges: readonly PublishedChallenge[]): void {
    const inHandshakes = challenges.filter((challenge) => 'certificate' in challenge);
    this.challenges = new Map(inHandshakes.map((challenge) => [challenge.name, presentedForChallenge(challenge)]));
  }

  /** The certificate for an authority's challenge of this name; null if none is pending. */
  findChallenge(name: string): PresentedCertificate | null {
    return this.challenges.get(name) ?? null;
  }

  /** Sets the names whose certificates could not be obtained and are not being ordered now. */
  setUncertified(names: readonly string[]): void {
    this.uncertified = new Set(names);
  }

  /** Whether a name without a certificate will have one soon, so that its handshakes may wait. */
  expects(name: string): boolean {
    const domain = this.managedName(name);
    return domain !== null && !this.uncertified.has(domain);
  }
}

type HandshakeChallenge = Extract<PublishedChallenge, { readonly certificate: string }>;

const presentedForChallenge = ({ name, certificate, privateKey }: HandshakeChallenge): PresentedCertificate =>
  new PresentedCertificate({ domains: [name], certificate, private_key: privateKey, challenge: true });
