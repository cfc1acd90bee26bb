import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { isMatcher, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from './diagnostics.ts';

/** Lines whose arguments are text for people or programs, or patterns, which may end in any way. */
const TEXTS: ReadonlySet<string> = new Set(
  'header header_regexp request_header header_up header_down respond path_regexp query_regexp'.split(' '),
);
const SPACE = 'write a space instead of the comma';
const MATCHER = 'name both in a matcher, as in @name path /a /b';
/** Lines whose arguments are paths, and how to name several. */
const PATHS: ReadonlyMap<string, string> = new Map([
  ['path', SPACE],
  ['hide', SPACE],
  ['try_files', SPACE],
  ['handle', MATCHER],
  ['handle_path', MATCHER],
  ['split', MATCHER],
]);
/** Directives whose blocks have directives, which are reported on their own. */
const WITH_DIRECTIVES: ReadonlySet<string> = new Set(['handle', 'handle_path', 'split']);
const NAMES: ReadonlyMap<string, string> = new Map([
  [',', 'comma'],
  [';', 'semicolon'],
]);

/**
 * Reports words that end with a comma or a semicolon, as if words were separated or lines were ended so. It would be a part of the word,
 * and a path or the name of a file with it would protect nothing. Quotation marks say that it is meant.
 */
export function reportPunctuation({ name, args, block }: Directive, report: DiagnosticReport): void {
  const [first, ...rest] = args;
  if (first && (isMatcher(name) || name.text === 'not')) return reportPunctuation({ name: first, args: rest, block }, report);
  if (TEXTS.has(name.text) || (name.text === 'uri' && first?.text === 'path_regexp')) return;
  for (const word of args) reportAt(word, report, PATHS.get(name.text));
  for (const line of (!WITH_DIRECTIVES.has(name.text) && block?.lines) || []) {
    // It may be a value, as in a list.
    reportAt(line.name, report, PATHS.get(name.text));
    reportPunctuation(line, report);
  }
}

function reportAt({ text, style, exact, ...at }: Word, report: DiagnosticReport, several: string | undefined): void {
  if (style !== 'bare' || !exact || text.length === 1) return;
  const mark = NAMES.get(text.slice(-1));
  if (mark !== undefined) report.error(at, `${quote(text)} ends with a ${mark}: delete it, or quote the word if it is a part of it`);
  else if (several !== undefined && /^\/.*,\//.test(text)) report.error(at, `${quote(text)} is a single path: ${several}, or quote it`);
}
