import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Agent } from 'node:https';
import type * as Acme from 'acme-client';
import { NAME } from '../../../shared/name.ts';
import { wordsForFailure } from './describe-failure.ts';
import { IssueError } from './failure.ts';

type Library = typeof Acme;
/** An order as RFC 9773 5 extends it. */
type NewOrder = Parameters<Acme.Client['createOrder']>[0] & { replaces?: string };

/** One HTTP exchange with the authority takes no longer (ms). */
const REQUEST_MS = 20_000;
/** How often a pending state is asked for: quickly at first, since most are done at once; about two minutes in all. */
const POLL = { backoffMin: 25, backoffMax: 2_000, backoffAttempts: 70 };

export type AuthoritySettings = {
  /** The URL of its directory (RFC 8555 7.1.1). */
  readonly directory: string;
  /** A file with the roots that its own HTTPS is verified by; null: the system's usual ones. */
  readonly rootPath: string | null;
  readonly email: string | null;
  /** External account binding (RFC 8555 7.3.4). */
  readonly binding: { readonly kid: string; readonly key: string } | null;
};

/** An account at an authority: its key in PEM, and where it stands there. */
export type Account = { readonly key: string; readonly url: string };

/** What an authority looks for to believe that a name is ours: HTTP-01 (RFC 8555 8.3). */
export type Challenge = { readonly name: string; readonly token: string; readonly keyAuthorization: string };

/** Where challenges are met. */
export interface ChallengeBoard {
  /** Resolves when every worker answers it. */
  present(challenge: Challenge): Promise<void>;
  withdraw(challenge: Challenge): void;
}

export type Issued = {
  /** PEM, the leaf first. */
  readonly certificate: string;
  readonly privateKey: string;
  /** The order's URL. */
  readonly order: string;
};

/** A certificate authority that speaks ACME (RFC 8555), and our account there. */
export class Authority {
  readonly account: Account;
  private readonly library: Library;
  private readonly client: Acme.Client;

  private constructor(library: Library, client: Acme.Client, account: Account) {
    this.library = library;
    this.client = client;
    this.account = account;
  }

  /**
   * Goes to the account that there is, or opens one.
   * @throws IssueError in words that say what to do.
   */
  static async open(settings: AuthoritySettings, known: Account | null): Promise<Authority> {
    const library = await load(settings);
    const key = known?.key ?? newKey();
    const client = new library.Client({
      directoryUrl: settings.directory,
      accountKey: key,
      ...(known !== null && { accountUrl: known.url }),
      ...(settings.binding !== null && { externalAccountBinding: { kid: settings.binding.kid, hmacKey: settings.binding.key } }),
      ...POLL,
    });
    try {
      if (known === null)
        await client.createAccount({
          termsOfServiceAgreed: true,
          ...(settings.email !== null && { contact: [`mailto:${settings.email}`] }),
        });
      return new Authority(library, client, { key, url: client.getAccountUrl() });
    } catch (error) {
      throw wordsForFailure(error, settings.directory);
    }
  }

  /**
   * Orders one certificate for these names, on a new key.
   * `replaces` is the ARI identifier of the one that it renews (RFC 9773 5).
   * @throws IssueError.
   */
  async issue(names: readonly string[], board: ChallengeBoard, replaces: string | null = null): Promise<Issued> {
    const privateKey = newKey();
    try {
      const request: NewOrder = {
        identifiers: names.map((value) => ({ type: 'dns', value })),
        ...(replaces !== null && { replaces }),
      };
      const order = await this.client.createOrder(request);
      const authorizations = await this.client.getAuthorizations(order);
      await Promise.all(authorizations.map((authorization) => this.authorize(authorization, board)));
      const [, csr] = await this.library.crypto.createCsr({ altNames: [...names] }, privateKey);
      const finalized = await this.client.finalizeOrder(order, csr);
      const certificate = await this.client.getCertificate(finalized);
      return { certificate, privateKey, order: order.url };
    } catch (error) {
      throw wordsForFailure(error, names.join(', '));
    }
  }

  private async authorize(authorization: Acme.Authorization, board: ChallengeBoard): Promise<void> {
    if (authorization.status === 'valid') return;
    const name = authorization.identifier.value;
    const challenge = authorization.challenges.find(({ type }) => type === 'http-01');
    if (challenge === undefined)
      throw new IssueError('refused', `${name}: the authority offers no check over HTTP (http-01) for this name`);
    const keyAuthorization = await this.client.getChallengeKeyAuthorization(challenge);
    const presented = { name, token: challenge.token, keyAuthorization };
    await board.present(presented);
    try {
      await this.client.completeChallenge(challenge);
      await this.client.waitForValidStatus(challenge);
    } catch (error) {
      throw await this.reasonOf(error, authorization);
    } finally {
      board.withdraw(presented);
    }
  }

  /** The authority's own words stand in the challenge that failed, not in the answer that says so. */
  private async reasonOf(error: unknown, authorization: Acme.Authorization): Promise<unknown> {
    const [now] = await this.client.getAuthorizations({ authorizations: [authorization.url] } as Acme.Order).catch(() => []);
    if (now?.status !== 'invalid') return error;
    const failed = now.challenges.find((challenge) => 'error' in challenge && challenge.error);
    const detail = failed && 'error' in failed ? (failed.error as { detail?: string }).detail : undefined;
    return new IssueError('validation', `${now.identifier.value}: ${detail ?? 'the authority could not verify the name'}`);
  }
}

const newKey = (): string => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' });

/** The library is large and many never need it, so it is loaded with the first order. Retries are ours, not its own. */
async function load({ rootPath }: AuthoritySettings): Promise<Library> {
  const library = (await import('acme-client')).default as Library;
  const { defaults } = library.axios;
  defaults.timeout = REQUEST_MS;
  defaults.headers.common['User-Agent'] = NAME;
  defaults.httpsAgent = new Agent(rootPath === null ? {} : { ca: readFileSync(rootPath) });
  // Its own handling of answers sleeps and tries again, and breaks where there is no answer at all.
  const { response } = library.axios.interceptors;
  response.clear();
  response.use(null, (error: unknown) => answerIn(error));
  return library;
}

/** The answer that an error carries: every status is one, and the library judges it. @throws the error itself, and IssueError for a limit. */
function answerIn(error: unknown): unknown {
  const answer = error instanceof Error && 'response' in error ? (error.response as Answer | undefined) : undefined;
  if (answer === undefined) throw error;
  if (answer.status !== 429) return answer;
  const seconds = Number(answer.headers['retry-after']);
  const detail = answer.data?.detail ?? 'too many requests';
  throw new IssueError('limited', `the certificate authority has a limit: ${detail}`, Number.isFinite(seconds) ? seconds * 1_000 : null);
}

type Answer = { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly data?: { readonly detail?: string } };
