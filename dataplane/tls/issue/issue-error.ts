import type { ChallengeType } from './challenges/challenge.ts';

/** What kept a certificate from being issued, and what that means for the next try. */
export type IssueFailureKind =
  /** The authority does not answer, or not in order: nothing about the name is wrong. */
  | 'unreachable'
  /** It could not convince itself that the name is ours: each such try counts against its limits. */
  | 'validation'
  /** A DNS record for its check could not be set: it has not been asked to look. */
  | 'records'
  /** It has a limit that is reached. */
  | 'limited'
  /** It refuses the order or the account for another reason. */
  | 'refused'
  /** Something on this machine is in the way, such as a full disk: nobody has been asked. */
  | 'local';

export class IssueError extends Error {
  readonly kind: IssueFailureKind;
  /** Milliseconds that the authority asks to wait; null when it did not say. */
  readonly retryAfterMs: number | null;

  constructor(kind: IssueFailureKind, message: string, retryAfterMs: number | null = null) {
    super(message);
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A check that an authority made, and that failed. */
export class ChallengeError extends IssueError {
  readonly type: ChallengeType;
  /** The last word of the authority's problem type (RFC 8555 6.7): `connection`, `unauthorized`; null without one. */
  readonly problem: string | null;

  constructor(message: string, type: ChallengeType, problem: string | null) {
    super('validation', message);
    this.type = type;
    this.problem = problem;
  }
}

/** The authority does not know our account: it was deleted there, or the authority has lost its memory. */
export class AccountGoneError extends IssueError {
  constructor(detail: string) {
    super('refused', `the certificate authority does not know the account any more: ${detail}`);
  }
}
