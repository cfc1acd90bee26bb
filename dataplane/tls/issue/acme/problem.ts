const ACME = 'urn:ietf:params:acme:error:';

/** A problem document from the authority (RFC 8555 6.7). */
export class ProblemError extends Error {
  /** The last part of its type: `rateLimited`, `invalidContact`. */
  readonly problem: string;
  /** A page that says what to do about it (RFC 8555 7.3.3). */
  readonly page: string | null;

  constructor(problem: string, detail: string, page: string | null = null) {
    super(detail);
    this.problem = problem;
    this.page = page;
  }
}

/** The last part of a problem type; null if it is not an ACME type. */
export const problemOf = (type: unknown): string | null =>
  typeof type === 'string' && type.startsWith(ACME) ? type.slice(ACME.length) : null;
