import type { Import } from '../../../../shared/config-file/word.ts';
import type { Report } from '../diagnostics/diagnostics.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** What a text is read with. */
export type ReadContext = {
  /** `unknown`: as for arguments. */
  readonly env: Environment | 'unknown';
  /**
   * What the import passes; null in the file that was named to begin with; `unknown` where a snippet is
   * read only for its structure, so that its arguments stand for nothing yet.
   */
  readonly args: readonly string[] | null | 'unknown';
  readonly from: Import | undefined;
  readonly report: Report;
};
