import type * as Acme from 'acme-client';
import type { Challenge, ChallengeSolver, ChallengeType } from '../challenges/challenge.ts';
import { isChallengeType } from '../challenges/challenge.ts';
import { isWorthTrying } from '../challenges/challenge-preference.ts';
import type { DnsSettings } from '../dns/dns-settings.ts';
import { AccountGoneError, ChallengeError, IssueError, UnfinishedError, UnissuedError } from '../issue-error.ts';
import { toAccountError, toIssueError } from './describe-failure.ts';
import { type AcmeLibrary, loadAcmeLibrary } from './library.ts';
import { PENDING, poll, TOTAL_MS } from './polling.ts';
import { newPrivateKey } from './private-key.ts';
import { ProblemError, problemOf } from './problem.ts';

/** An order as RFC 9773 5 extends it. */
type NewOrder = Parameters<Acme.Client['createOrder']>[0] & { replaces?: string };

/** We repeat its queries: the library would ignore Retry-After and rate limits. */
const ONE_ATTEMPT = { backoffAttempts: 1 };

/** RFC 8555 8.1: a token is base64url. It is used in a path and as a file name. */
const TOKEN = /^[A-Za-z0-9_-]{1,200}$/;

/** The authorizations of one order, which is for one name and so needs only one (RFC 8555 7.1.3). */
const MAX_AUTHORIZATIONS = 10;

export type AcmeSettings = {
  /** The URL of its directory (RFC 8555 7.1.1). */
  readonly directory: string;
  /** A file with the roots that verify its HTTPS; null: the system's. */
  readonly rootPath: string | null;
  /** The same in PEM, if no file is given. */
  readonly roots?: string | null;
  readonly email: string | null;
  /** External account binding (RFC 8555 7.3.4). */
  readonly binding: { readonly kid: string; readonly key: string } | null;
  /** How to set records for DNS-01; null: not possible. */
  readonly dns: DnsSettings | null;
};

/** An account at an authority: its key in PEM and its URL. */
export type Account = { readonly key: string; readonly url: string };

/** The same before it is registered, as far as it is known. */
type NewAccount = { readonly key: string; readonly url: null };

/** An order placed earlier: its URL and the private key in PEM for its certificate. */
export type ResumableOrder = { readonly url: string; readonly privateKey: string };

export type OrderRequest = {
  readonly name: string;
  /** The ARI CertID of the certificate that the order renews (RFC 9773 5). */
  readonly replaces: string | null;
  /** Challenge types to try in turn. Each needs a new order, since a failed challenge invalidates the order (RFC 8555 7.1.6). */
  readonly challengeTypes: readonly ChallengeType[];
  /** An earlier order to resume, if the authority still has it. */
  readonly begun: ResumableOrder | null;
  /** Saves what is needed to resume the order after a crash. */
  remember(begun: ResumableOrder): Promise<void>;
  challengeFailed(type: ChallengeType): void;
};

export type IssuedCertificate = {
  /** PEM, the leaf first. */
  readonly certificate: string;
  readonly privateKey: string;
  /** The order's URL. */
  readonly order: string;
  /** The challenge that validated the name; null if the authority reused an earlier authorization. */
  readonly validatedBy: ChallengeType | null;
};

/** ACME client (RFC 8555) for one authority and our account there. */
export class AcmeClient {
  readonly account: Account;
  private readonly library: AcmeLibrary;
  private readonly client: Acme.Client;
  private readonly pollMs: number;

  private constructor(library: AcmeLibrary, client: Acme.Client, account: Account, pollMs: number) {
    this.pollMs = pollMs;
    this.library = library;
    this.client = client;
    this.account = account;
  }

  /**
   * Uses the known account, or registers one, with the given key or a new one. `pollMs`: how long to wait for a validation, and for a
   * certificate.
   * @throws IssueError whose message says what to do.
   */
  static async open(settings: AcmeSettings, known: Account | NewAccount | null, pollMs = TOTAL_MS): Promise<AcmeClient> {
    const { directory, rootPath, roots = null, email, binding } = settings;
    const library = await loadAcmeLibrary(rootPath, roots);
    const key = known?.key ?? newPrivateKey();
    const knownUrl = known?.url ?? null;
    const client = new library.Client({
      directoryUrl: directory,
      accountKey: key,
      ...(knownUrl !== null && { accountUrl: knownUrl }),
      ...(binding !== null && { externalAccountBinding: { kid: binding.kid, hmacKey: binding.key } }),
      ...ONE_ATTEMPT,
    });
    // Otherwise it would register again and again, without a pause, if the authority does not tell the URL of an existing account.
    const update = client.updateAccount.bind(client);
    client.updateAccount = async (data) => {
      client.getAccountUrl();
      return update(data);
    };
    try {
      if (knownUrl === null)
        await client.createAccount({ termsOfServiceAgreed: true, ...(email !== null && { contact: [`mailto:${email}`] }) });
      return new AcmeClient(library, client, { key, url: client.getAccountUrl() }, pollMs);
    } catch (error) {
      throw toAccountError(error, directory);
    }
  }

  /** Replaces the address at which the authority reaches the owner of the account (RFC 8555 7.3.2). @throws IssueError. */
  async setContact(email: string): Promise<void> {
    try {
      await this.client.updateAccount({ contact: [`mailto:${email}`] });
    } catch (error) {
      throw toIssueError(error, email);
    }
  }

  /** Orders one certificate with a new key. @throws IssueError. */
  async issue(request: OrderRequest, solver: ChallengeSolver): Promise<IssuedCertificate> {
    const { name, challengeTypes: types } = request;
    let { begun } = request;
    for (let left = types; ; ) {
      try {
        return await this.attempt({ ...request, challengeTypes: left, begun }, solver);
      } catch (error) {
        if (!(error instanceof ChallengeError)) throw toIssueError(error, name);
        request.challengeFailed(error.type);
        begun = null;
        left = left.filter((type) => type !== error.type && isWorthTrying(type, error.type, error.problem));
        if (left.length === 0) throw error;
      }
    }
  }

  private async attempt(
    { name, replaces, challengeTypes: types, begun, remember }: OrderRequest,
    solver: ChallengeSolver,
  ): Promise<IssuedCertificate> {
    const resumed = begun && (await this.resume(begun.url));
    const privateKey = resumed && begun ? begun.privateKey : newPrivateKey();
    const order = resumed ?? (await this.createOrder(name, replaces));
    const { authorizations = [] } = order;
    if (authorizations.length > MAX_AUTHORIZATIONS)
      throw new IssueError('refused', `${name}: the authority asks for ${authorizations.length} authorizations of one name`);
    if (resumed === null) await remember({ url: order.url, privateKey });
    const presented: Challenge[] = [];
    const present = (challenge: Challenge): Promise<void> => {
      presented.push(challenge);
      return solver.present(challenge);
    };
    let validatedBy: ChallengeType | null = null;
    try {
      if (order.status === 'pending')
        for (const authorization of await this.client.getAuthorizations(order))
          validatedBy = (await this.authorize(name.replace(/^\*\./, ''), authorization, types, present)) ?? validatedBy;
      const certificate = await this.complete(order, name, privateKey);
      return { certificate, privateKey, order: order.url, validatedBy };
    } finally {
      // Only now, because a resumed order may be validated twice: the previous process may have requested it too.
      for (const challenge of presented) solver.cleanUp(challenge);
    }
  }

  /**
   * If the authority rejects `replaces`, because the certificate was already replaced or belongs to another account (RFC 9773 5), orders
   * without it.
   */
  private async createOrder(name: string, replaces: string | null): Promise<Acme.Order> {
    const order = { identifiers: [{ type: 'dns', value: name }] };
    if (replaces === null) return this.client.createOrder(order);
    const replacing: NewOrder = { ...order, replaces };
    try {
      return await this.client.createOrder(replacing);
    } catch (error) {
      const failure = toIssueError(error, name);
      if (failure.kind !== 'refused' || failure instanceof AccountGoneError) throw failure;
      return this.client.createOrder(order);
    }
  }

  /** null if the order is invalid or no longer known to the authority. @throws if the authority can't be queried. */
  private async resume(url: string): Promise<Acme.Order | null> {
    try {
      const order = await this.client.getOrder({ url } as Acme.Order);
      return order.status === 'invalid' ? null : order;
    } catch (error) {
      if (toIssueError(error, url).kind !== 'refused') throw error;
      return null;
    }
  }

  /** The chain in PEM. An authority that needs longer than we wait, perhaps because someone has to approve the order, is working. */
  private async complete(order: Acme.Order, name: string, privateKey: string): Promise<string> {
    try {
      const finalized = await this.finalize(order, name, privateKey);
      return await poll(async () => this.client.getCertificate(await this.ended(finalized, name)), this.pollMs);
    } catch (error) {
      if (!(error instanceof Error) || error.message !== PENDING) throw error;
      throw new UnissuedError(`${name}: the authority has verified the name but not issued the certificate so far; the order goes on`);
    }
  }

  /**
   * A resumed order may have been finalized before. Some authorities make an order ready only a while after its name has been verified:
   * then its state says what to do (RFC 8555 7.4).
   */
  private async finalize(order: Acme.Order, name: string, privateKey: string): Promise<Acme.Order> {
    if (order.status === 'processing' || order.status === 'valid') return order;
    const [, csr] = await this.library.crypto.createCsr({ altNames: [name] }, privateKey);
    try {
      return await this.client.finalizeOrder(order, csr);
    } catch (notReady) {
      if (!(notReady instanceof ProblemError) || notReady.problem !== 'orderNotReady') throw notReady;
      const now = await poll(() => this.decided(order), this.pollMs).catch((error: unknown) => {
        // Another order may get further than one that stays like that.
        throw error instanceof Error && error.message === PENDING ? notReady : error;
      });
      return now.status === 'ready' ? this.client.finalizeOrder(now, csr) : now;
    }
  }

  /** An order whose authorizations the authority has taken note of. @throws Error as long as it has not. */
  private async decided(order: Acme.Order): Promise<Acme.Order> {
    const now = await this.client.getOrder(order);
    if (now.status === 'pending') throw new Error(PENDING);
    return now;
  }

  /**
   * A finalized order that the authority has processed. Why one is invalid is told in its own words, which say nothing about the authority.
   * @throws Error as long as it is being processed, and IssueError if it is invalid.
   */
  private async ended(finalized: Acme.Order, name: string): Promise<Acme.Order> {
    const order = isPending(finalized) ? await this.client.getOrder(finalized) : finalized;
    if (isPending(order)) throw new Error(PENDING);
    if (order.status !== 'invalid') return order;
    const { detail } = (order.error ?? {}) as { detail?: string };
    throw new IssueError('refused', `${name}: ${detail ?? 'the authority declared the order invalid'}`);
  }

  /** Solves one authorization; `name` without the `*.` of a wildcard. */
  private async authorize(
    name: string,
    authorization: Acme.Authorization,
    types: readonly ChallengeType[],
    present: (challenge: Challenge) => Promise<void>,
  ): Promise<ChallengeType | null> {
    const { status, challenges, identifier } = authorization;
    if (identifier.value.toLowerCase() !== name)
      throw new IssueError('refused', `${name}: the authority asks to validate ${identifier.value} instead`);
    if (status === 'valid') return null;
    const offered = new Map(challenges.map((challenge) => [challenge.type as string, challenge]));
    const type = types.find((each) => offered.has(each));
    const challenge = type && offered.get(type);
    if (challenge === undefined || type === undefined) {
      const names = [...offered.keys()].join(', ') || 'none';
      throw new IssueError('refused', `${name}: the authority offers no challenge that can be solved here (it offers ${names})`);
    }
    if (!TOKEN.test(challenge.token)) throw new IssueError('refused', `${name}: the authority sent a malformed token (RFC 8555 8.1)`);
    const keyAuthorization = await this.client.getChallengeKeyAuthorization(challenge);
    try {
      await present({ type, name, token: challenge.token, keyAuthorization });
      if (challenge.status === 'pending') await this.completeChallenge(challenge, authorization);
      await poll(() => this.client.waitForValidStatus(challenge), this.pollMs);
      return type;
    } catch (error) {
      throw await this.validationError(error, authorization);
    }
  }

  /**
   * Requests validation. The process that began a resumed order may have just done so: validation of a challenge that is no longer pending
   * can't be requested again, and its outcome counts.
   */
  private async completeChallenge(challenge: Acme.Authorization['challenges'][number], authorization: Acme.Authorization): Promise<void> {
    try {
      await this.client.completeChallenge(challenge);
    } catch (error) {
      const now = await this.authorizationNow(authorization);
      const status = now?.challenges.find(({ url }) => url === challenge.url)?.status;
      if (status === undefined || status === 'pending') throw error;
    }
  }

  /** undefined if the authority can't be queried. */
  private async authorizationNow({ url }: Acme.Authorization): Promise<Acme.Authorization | undefined> {
    const [now] = await this.client.getAuthorizations({ authorizations: [url] } as Acme.Order).catch(() => []);
    return now;
  }

  /**
   * The reason for a failed validation is in the challenge object, not in the error response. An authority that has not finished tries
   * again and again to reach the name's server, so the name is at fault and not the authority.
   */
  private async validationError(error: unknown, authorization: Acme.Authorization): Promise<unknown> {
    const now = await this.authorizationNow(authorization);
    if (now?.status === 'pending' && error instanceof Error && error.message === PENDING)
      return new UnfinishedError(`${now.identifier.value}: the authority has not been able to verify the name so far`);
    if (now?.status !== 'invalid') return error;
    const failed = now.challenges.find((challenge) => 'error' in challenge && challenge.error);
    const { detail, type } = (failed && 'error' in failed ? failed.error : {}) as { detail?: string; type?: string };
    const words = `${now.identifier.value}: ${detail ?? 'the authority could not verify the name'}`;
    if (failed === undefined || !isChallengeType(failed.type)) return new IssueError('validation', words);
    return new ChallengeError(words, failed.type, problemOf(type));
  }
}

const isPending = ({ status }: Acme.Order): boolean => status === 'pending' || status === 'processing';
