import type { Log } from '../../../shared/runtime/log.ts';
import type { Change, Publisher } from '../../publish/publisher.ts';
import type { Challenge, ChallengeBoard } from './challenges/challenge.ts';
import { checkCertificate } from './challenges/check-certificate.ts';

type PublishedChallenge = NonNullable<Change['challenges']>[number];

/** Challenges on show in every worker: none is presented before all of them answer it. */
export class PublishedBoard implements ChallengeBoard {
  private readonly publisher: Publisher;
  private readonly log: Log;
  private readonly shown = new Map<string, PublishedChallenge>();

  constructor(publisher: Publisher, log: Log) {
    this.publisher = publisher;
    this.log = log;
  }

  async present(challenge: Challenge): Promise<void> {
    this.shown.set(challenge.token, await publishedFor(challenge));
    await this.publish();
  }

  withdraw({ token, name }: Challenge): void {
    if (!this.shown.delete(token)) return;
    this.publish().catch((error: unknown) => this.log.warn({ name, error: String(error) }, 'a challenge is shown longer than it need be'));
  }

  private publish(): Promise<number> {
    return this.publisher.publish({ challenges: [...this.shown.values()] });
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
