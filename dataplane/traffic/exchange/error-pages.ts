import type { EvaluatedRequest } from './values/evaluated-request.ts';

/** A site's own page for an error. */
export type ErrorPage = {
  readonly body: Buffer;
  /** Content-Type and the page's own headers, as lines. */
  readonly fields: string;
  /** The names of those fields in lower case; they replace others of the same names. */
  readonly names: ReadonlySet<string>;
};

/** The error pages of a site or block, compiled. */
export interface ErrorPages {
  /** The page for an error of the proxy itself; null for the default page. */
  own(x: EvaluatedRequest, status: number): ErrorPage | null;
  /** The page that replaces an error of the upstream; null if that is forwarded. */
  intercepted(x: EvaluatedRequest, status: number, lines: string): ErrorPage | null;
}
