import type { Log } from '../../../shared/runtime/log.ts';
import type { Publisher } from '../../publish/publisher.ts';
import type { Challenge, ChallengeBoard } from './authority.ts';

/** Challenges on show in every worker: none is presented before all of them answer it. */
export class PublishedBoard implements ChallengeBoard {
  private readonly publisher: Publisher;
  private readonly log: Log;
  private readonly shown = new Map<string, Challenge>();

  constructor(publisher: Publisher, log: Log) {
    this.publisher = publisher;
    this.log = log;
  }

  async present(challenge: Challenge): Promise<void> {
    this.shown.set(challenge.token, challenge);
    await this.publish();
  }

  withdraw({ token, name }: Challenge): void {
    this.shown.delete(token);
    this.publish().catch((error: unknown) => this.log.warn({ name, error: String(error) }, 'a challenge is shown longer than it need be'));
  }

  private publish(): Promise<number> {
    const challenges = [...this.shown.values()].map(({ token, keyAuthorization }) => ({ token, keyAuthorization }));
    return this.publisher.publish({ challenges });
  }
}
