import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { isMatcher, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from './diagnostics.ts';

/** Lines whose arguments are text for people or programs, or patterns, which may end in any way. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['header', 'header_regexp', 'request_header', 'header_up', 'header_down', 'respond', 'path_regexp', 'query_regexp'],
]);
/** Lines whose arguments are paths. */
const PATHS: ReadonlySet<string> = new Set(['path', 'hide', 'try_files']);
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
  if (TEXTS.has(name.text)) return;
  for (const word of args) reportAt(word, report, PATHS.has(name.text));
  for (const line of (!WITH_DIRECTIVES.has(name.text) && block?.lines) || []) {
    // It may be a value, as in a list.
    reportAt(line.name, report, PATHS.has(name.text));
    reportPunctuation(line, report);
  }
}

function reportAt({ text, style, exact, ...at }: Word, report: DiagnosticReport, isPath: boolean): void {
  if (style !== 'bare' || !exact || text.length === 1) return;
  const mark = NAMES.get(text.slice(-1));
  if (mark !== undefined) report.error(at, `${quote(text)} ends with a ${mark}: delete it, or quote the word if it is a part of it`);
  else if (isPath && /^\/.*,\//.test(text))
    report.error(at, `${quote(text)} is a single path: write a space instead of the comma, or quote it`);
}
