/** What kept a certificate from being issued, and what that means for the next try. */
export type IssueFailureKind =
  /** The authority does not answer, or not in order: nothing about the name is wrong. */
  | 'unreachable'
  /** It could not convince itself that the name is ours: each such try counts against its limits. */
  | 'validation'
  /** It has a limit that is reached. */
  | 'limited'
  /** It refuses the order or the account for another reason. */
  | 'refused';

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
