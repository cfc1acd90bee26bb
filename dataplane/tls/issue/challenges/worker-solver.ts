import type { Log } from '../../../../shared/runtime/log.ts';
import type { Change, Publisher } from '../../../publish/publisher.ts';
import type { Challenge, ChallengeBoard } from './challenge.ts';
import { SharedTokens, type SharedTokensTools } from './shared-tokens.ts';
import { checkCertificate } from './tls-alpn-certificate.ts';

type PublishedChallenge = NonNullable<Change['challenges']>[number];

export type BoardTools = Omit<SharedTokensTools, 'found'> & { readonly publisher: Publisher; readonly log: Log };

/** Challenges on show in every worker, also of processes that share the store: none is presented before all of them answer it. */
export class PublishedBoard implements ChallengeBoard {
  readonly shared: SharedTokens;
  private readonly tools: BoardTools;
  private readonly shown = new Map<string, PublishedChallenge>();
  private foreign: readonly PublishedChallenge[] = [];

  constructor(tools: BoardTools) {
    this.tools = tools;
    this.shared = new SharedTokens({
      ...tools,
      found: (tokens) => {
        this.foreign = tokens;
        this.publishSoon('of others');
      },
    });
  }

  async present(challenge: Challenge): Promise<void> {
    const { type, token } = challenge;
    this.shown.set(token, await publishedFor(challenge));
    await Promise.all([this.publish(), type === 'http-01' && this.shared.put(challenge)]);
  }

  withdraw({ token, name }: Challenge): void {
    if (!this.shown.delete(token)) return;
    this.publishSoon(name);
    this.shared.delete(token).catch((error: unknown) => this.tools.log.debug({ name, error: String(error) }, 'a token stays for an hour'));
  }

  private publishSoon(name: string): void {
    this.publish().catch((error: unknown) =>
      this.tools.log.warn({ name, error: String(error) }, 'challenges are not up to date everywhere'),
    );
  }

  private publish(): Promise<number> {
    return this.tools.publisher.publish({ challenges: [...this.shown.values(), ...this.foreign] });
  }
}

async function publishedFor(challenge: Challenge): Promise<PublishedChallenge> {
  const { type, name, token, keyAuthorization } = challenge;
  return type === 'http-01' ? { token, keyAuthorization } : { name, ...(await checkCertificate(challenge)) };
}

/** Each challenge where its type is met. */
export class Boards implements ChallengeBoard {
  private readonly published: ChallengeBoard;
  private readonly dns: ChallengeBoard | null;

  /** `dns`: where records are set; null: nobody can. */
  constructor(published: ChallengeBoard, dns: ChallengeBoard | null) {
    this.published = published;
    this.dns = dns;
  }

  present(challenge: Challenge): Promise<void> {
    return this.of(challenge).present(challenge);
  }

  withdraw(challenge: Challenge): void {
    this.of(challenge).withdraw(challenge);
  }

  private of({ type }: Challenge): ChallengeBoard {
    return type === 'dns-01' && this.dns !== null ? this.dns : this.published;
  }
}
