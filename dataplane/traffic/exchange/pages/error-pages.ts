import type { Clock } from '../../../../shared/runtime/clock.ts';
import { withoutFields } from '../../codec/http1/kept-lines.ts';
import type { CacheResult } from '../../protocol.ts';
import type { EvaluatedRequest } from '../values/evaluated-request.ts';

/** A site's own page for an error. */
export type ErrorPage = {
  readonly body: Buffer;
  /** Content-Type and the page's own headers, as lines. */
  readonly fields: string;
  /** The names of those fields in lower case; they replace others of the same names. */
  readonly names: ReadonlySet<string>;
};

/**
 * Finds a page, for example in its file. `found` gets null if there is none, and `fault` what was thrown; one of them is called in a later
 * turn.
 * @returns a function that cancels the search, so that neither is called.
 */
export type PageSearch = (found: (page: ErrorPage | null) => void, fault: (error: unknown) => void) => () => void;

/** The error pages of a site or block, compiled. */
export interface ErrorPages {
  readonly clock: Clock;
  /** The page for an error of the proxy itself; null for the default page. */
  own(x: EvaluatedRequest, status: number): ErrorPage | PageSearch | null;
  /** The page that replaces an error of the upstream; null if that is forwarded. */
  intercepted(x: EvaluatedRequest, status: number, lines: string): PageSearch | null;
  /** Describes for `explain` what they are for and where they come from. */
  explain(): string;
}

/** Fields that describe the replaced body. */
const BODY_FIELDS: ReadonlySet<string> = new Set([
  'accept-ranges',
  'content-digest',
  'content-disposition',
  'content-encoding',
  'content-language',
  'content-location',
  'content-md5',
  'content-range',
  'content-type',
  'digest',
  'etag',
  'last-modified',
  'repr-digest',
  'trailer',
]);

/** The lines of an upstream's response whose body is replaced by a page. */
export const replacedLines = (lines: string, page: ErrorPage): string =>
  withoutFields(withoutFields(lines, BODY_FIELDS), page.names) + page.fields;

/** Whether the cache answers with an earlier response of an upstream. */
export const isStored = (cached: CacheResult | null): boolean => cached !== null && cached !== 'pass';
