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
};
