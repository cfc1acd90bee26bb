import type { OwnAnswer } from '../exchange/own-answer.ts';
import type { PublishedChallenge } from '../protocol.ts';

const PREFIX = '/.well-known/acme-challenge/';

/** What a certificate authority looks for while it checks that a name is ours (RFC 8555 8.3), answered by every worker. */
export class Challenges {
  private answers: ReadonlyMap<string, OwnAnswer> = new Map();

  /** These are all there are. */
  apply(challenges: readonly PublishedChallenge[]): void {
    const overHttp = challenges.filter((challenge) => 'token' in challenge);
    this.answers = new Map(overHttp.map(({ token, keyAuthorization }) => [PREFIX + token, answerWith(keyAuthorization)]));
  }

  /** null for any other request, and for tokens that are not ours: those may belong to the site behind us. */
  find(target: string): OwnAnswer | null {
    return this.answers.size === 0 ? null : (this.answers.get(target) ?? null);
  }
}

const answerWith = (keyAuthorization: string): OwnAnswer => ({
  status: 200,
  fields: 'Content-Type: application/octet-stream\r\n',
  body: keyAuthorization,
  reason: 'an ACME challenge',
});
