import type { ChallengeType } from './challenges/challenge.ts';

/** Why a certificate was not issued, which decides when to retry. */
export type IssueFailureKind =
  /** The authority is down or unreachable; nothing is wrong with the name. */
  | 'unreachable'
  /** It could not validate the name. Each failure counts against its rate limits. */
  | 'validation'
  /** A DNS record could not be set, so validation was not requested. */
  | 'records'
  /** A rate limit was reached. */
  | 'limited'
  /** It rejected the order or the account for another reason. */
  | 'refused'
  /** A local problem, such as a full disk; the authority was not contacted. */
  | 'local';

/** The longest message (characters): the words of an authority may be of any length. */
export const MAX_REASON_LENGTH = 2_048;

export class IssueError extends Error {
  readonly kind: IssueFailureKind;
  /** How long the authority asks us to wait (ms); null if it did not say. */
  readonly retryAfterMs: number | null;

  constructor(kind: IssueFailureKind, message: string, retryAfterMs: number | null = null) {
    super(message.slice(0, MAX_REASON_LENGTH));
    this.kind = kind;
    this.retryAfterMs = retryAfterMs;
  }
}

/** A challenge that the authority tried to validate and that failed. */
export class ChallengeError extends IssueError {
  readonly type: ChallengeType;
  /** The last part of the problem type (RFC 8555 6.7): `connection`, `unauthorized`; null without one. */
  readonly problem: string | null;

  constructor(message: string, type: ChallengeType, problem: string | null) {
    super('validation', message);
    this.type = type;
    this.problem = problem;
  }
}

/** A validation that has not ended. Its order goes on, since an authority may need longer than we wait. */
export class UnfinishedError extends IssueError {
  constructor(message: string) {
    super('validation', message);
  }
}

/** The same after the validation: the authority has not processed the order. */
export class UnissuedError extends UnfinishedError {}

/** Processes have ended in the middle of the order, again and again. Whether the name can be validated is not known. */
export class CrashedError extends IssueError {
  constructor(message: string, retryAfterMs: number) {
    super('validation', message, retryAfterMs);
  }
}

/** The authority does not know our account: it was deleted or deactivated, or the authority lost its data. */
export class AccountGoneError extends IssueError {
  constructor(detail: string) {
    super('refused', `the certificate authority no longer knows the account: ${detail}`);
  }
}
