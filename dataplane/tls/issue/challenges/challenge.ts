/** How an authority can convince itself that a name is ours (RFC 8555 8, RFC 8737), the usual way first. */
export const CHALLENGE_TYPES = ['http-01', 'tls-alpn-01', 'dns-01'] as const;
export type ChallengeType = (typeof CHALLENGE_TYPES)[number];

export const isChallengeType = (text: string): text is ChallengeType => (CHALLENGE_TYPES as readonly string[]).includes(text);

/** What an authority looks for. */
export type Challenge = {
  readonly type: ChallengeType;
  /** Without the `*.` of a wildcard. */
  readonly name: string;
  readonly token: string;
  /** With `dns-01` its digest, as it stands in the record (RFC 8555 8.4). */
  readonly keyAuthorization: string;
};

/** Where challenges are met. */
export interface ChallengeSolver {
  /** Resolves when whoever looks for it finds it, wherever they ask. @throws IssueError. */
  present(challenge: Challenge): Promise<void>;
  /** Takes it away, in its own time: what goes wrong is logged. Also for one whose presenting failed. */
  cleanUp(challenge: Challenge): void;
}
