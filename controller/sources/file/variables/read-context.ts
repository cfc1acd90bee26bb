import type { Import } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The context for reading a text. */
export type ReadContext = {
  /** `unknown`: as for arguments. */
  readonly env: Environment | 'unknown';
  /**
   * The arguments of the import; null in the main file; `unknown` if a snippet is read only to check its structure, before its arguments
   * are known.
   */
  readonly args: readonly string[] | null | 'unknown';
  readonly from: Import | undefined;
  readonly report: DiagnosticReport;
  readonly budget: Budget;
};

/** What all variables and arguments of a compilation may insert together: snippets that repeat theirs would grow without end. */
export type Budget = {
  /** false: it is used up. */
  spend(characters: number): boolean;
};

const MAX_INSERTED = 64 * 1_048_576;
export const SPENT =
  'too much is inserted here: the limit for the values of all variables and arguments together is 64 MB; insert fewer or shorter ones';

export function createBudget(): Budget {
  let left = MAX_INSERTED;
  return {
    spend: (characters) => {
      if (characters > left) return false;
      left -= characters;
      return true;
    },
  };
}
