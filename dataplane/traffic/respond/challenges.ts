import type { OwnAnswer } from '../exchange/own-answer.ts';
import type { PublishedChallenge } from '../protocol.ts';

const PREFIX = '/.well-known/acme-challenge/';

/** Answers the HTTP challenges of a certificate authority (RFC 8555 8.3), in every worker. */
export class Challenges {
  private answers: ReadonlyMap<string, OwnAnswer> = new Map();

  /** Replaces all challenges. */
  apply(challenges: readonly PublishedChallenge[]): void {
    const overHttp = challenges.filter((challenge) => 'token' in challenge);
    this.answers = new Map(overHttp.map(({ token, keyAuthorization }) => [PREFIX + token, answerWith(keyAuthorization)]));
  }

  /** null for any other request and for unknown tokens, which may belong to the upstream. */
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
