/** The challenge types we can solve (RFC 8555 8, RFC 8737), the most common first. */
export const CHALLENGE_TYPES = ['http-01', 'tls-alpn-01', 'dns-01'] as const;
export type ChallengeType = (typeof CHALLENGE_TYPES)[number];

export const isChallengeType = (text: string): text is ChallengeType => (CHALLENGE_TYPES as readonly string[]).includes(text);

/** A challenge that the authority will validate. */
export type Challenge = {
  readonly type: ChallengeType;
  /** Without the `*.` of a wildcard. */
  readonly name: string;
  readonly token: string;
  /** For `dns-01` its digest, as in the TXT record (RFC 8555 8.4). */
  readonly keyAuthorization: string;
};

/** Solves challenges. */
export interface ChallengeSolver {
  /** Resolves once the response is visible wherever the authority may look. @throws IssueError. */
  present(challenge: Challenge): Promise<void>;
  /** Removes the response in the background and logs failures. Also called when `present` failed. */
  cleanUp(challenge: Challenge): void;
}
