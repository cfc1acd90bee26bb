const ACME = 'urn:ietf:params:acme:error:';

/** What an authority answers instead of what was asked for (RFC 8555 6.7). */
export class ProblemError extends Error {
  /** The last word of its type: `rateLimited`, `invalidContact`. */
  readonly problem: string;

  constructor(problem: string, detail: string) {
    super(detail);
    this.problem = problem;
  }
}

/** The last word of a problem's type; null for one that is none of ACME's. */
export const problemOf = (type: unknown): string | null =>
  typeof type === 'string' && type.startsWith(ACME) ? type.slice(ACME.length) : null;
