import { didYouMean } from '../../../../shared/closest.ts';
import type { Condition, PlainCondition } from '../../../../shared/condition.ts';
import type { Directive, DirectiveBlock } from '../../../../shared/config-file/directive.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { isMatcher, lineOf, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { reportLiteralMarks } from '../diagnostics/literal-marks.ts';
import { reportPunctuation } from '../diagnostics/punctuation.ts';
import type { PlainDraft } from './kind.ts';
import { KINDS } from './matcher-kinds.ts';

/** A named matcher, `@name …`, and whether it is used. */
export type Matcher = { readonly name: Word; readonly condition: Condition; used: boolean };

/** The matchers available in a block: its own and those of the enclosing blocks. Those are not copied: there may be thousands of both. */
export type Matchers = { readonly own: ReadonlyMap<string, Matcher>; readonly around: Matchers | null };

export const NO_MATCHERS: Matchers = { own: new Map(), around: null };

const NAME = /^@[A-Za-z0-9_-]{1,64}$/;
const MAX_EXCEPTIONS = 50;
const ALL_KINDS = [...Object.keys(KINDS), 'not'];
const FORM = `write @name <kind> <value> …, or a block with one <kind> <value> … per line; kinds are ${ALL_KINDS.join(', ')}`;

/** Kinds of other proxies, and their names here. */
const OTHER_KINDS: ReadonlyMap<string, string> = new Map([
  ['client_ip', 'remote_ip'],
  ['methods', 'method'],
  ['headers', 'header'],
]);

/** Kinds of a Caddyfile that don't exist here, and what to do instead. */
const CADDY_KINDS: ReadonlyMap<string, string> = new Map([
  ['file', 'files are looked for by file_server, and by try_files next to it: put them in a handle for the paths of the files'],
  ['expression', 'expressions are not supported: write the conditions one per line, in a block of the matcher; not negates one'],
  ['vars', 'variables are not supported'],
  ['vars_regexp', 'variables are not supported'],
]);

/** Reads the matchers defined in a block. @returns them with those of the enclosing blocks, and the block without their lines. */
export function readMatchers(
  block: DirectiveBlock,
  around: Matchers,
  report: DiagnosticReport,
): { matchers: Matchers; rest: DirectiveBlock } {
  if (!block.lines.some(({ name }) => isMatcher(name))) return { matchers: around, rest: block };
  const matchers = new Map<string, Matcher>();
  const own = new Map<string, Word>();
  for (const line of block.lines) {
    const { name } = line;
    if (!isMatcher(name)) continue;
    const earlier = own.get(name.text);
    own.set(name.text, name);
    if (!NAME.test(name.text))
      report.error(name, `${quote(name.text)} is not a valid matcher name: write @ followed by letters, digits, "-" and "_"`);
    else if (earlier) report.error(name, `${unquoted(name.text)} is already defined in ${lineOf(earlier, name)}; rename one of them`);
    else {
      matchers.set(name.text, { name, condition: readCondition(line, report), used: false });
      reportPunctuation(line, report);
      reportLiteralMarks(line, report);
    }
  }
  return { matchers: { own: matchers, around }, rest: { open: block.open, lines: block.lines.filter(({ name }) => !isMatcher(name)) } };
}

/** The unused matchers of a block. Those of an imported text may be for others. */
export function reportUnused(block: DirectiveBlock, matchers: Matchers, report: DiagnosticReport): void {
  for (const { name } of block.lines) {
    const matcher = isMatcher(name) ? matchers.own.get(name.text) : undefined;
    if (matcher?.name === name && !matcher.used && !name.from) report.warn(name, `nothing uses the matcher ${unquoted(name.text)}`);
  }
}

/** The condition of a named matcher; undefined, and an error, if there is none. */
export function conditionFor(directive: string, word: Word, matchers: Matchers, report: DiagnosticReport): Condition | undefined {
  const matcher = matcherOf(word.text, matchers);
  if (matcher) {
    matcher.used = true;
    return matcher.condition;
  }
  const meant = didYouMean(word.text, namesOf(matchers));
  report.error(
    word,
    `${directive} ${quote(word.text)}: no matcher has this name here${meant || '; define it in the site, as in @api path /api/*'}`,
  );
  return undefined;
}

function matcherOf(name: string, { own, around }: Matchers): Matcher | undefined {
  return own.get(name) ?? (around === null ? undefined : matcherOf(name, around));
}

const namesOf = ({ own, around }: Matchers): string[] => [...(around === null ? [] : namesOf(around)), ...own.keys()];

/** Errors are reported; the valid parts are returned, so that the matcher does not appear to be missing. */
function readCondition(line: Directive, report: DiagnosticReport): Condition {
  const draft: PlainDraft = {};
  const not: PlainCondition[] = [];
  for (const { name: kind, args, block } of kindLines(line, report)) {
    if (kind.text !== 'not') readKind(kind, args, block, draft, report);
    else if (not.length === MAX_EXCEPTIONS) report.error(kind, `a matcher has at most ${MAX_EXCEPTIONS} lines of not`);
    else not.push(readException({ name: kind, args, block }, report));
  }
  return { name: line.name.text, ...draft, ...(not.length > 0 && { not }) };
}

/** What `not` excludes: all of its lines together. */
function readException(line: Directive, report: DiagnosticReport): PlainCondition {
  const draft: PlainDraft = {};
  for (const { name: kind, args, block } of kindLines(line, report)) {
    if (kind.text === 'not') report.error(kind, 'not cannot be inside another not: leave both out');
    else readKind(kind, args, block, draft, report);
  }
  return draft;
}

/** The lines of a matcher: those of its block, or its own. */
function kindLines({ name, args: [kind, ...args], block }: Directive, report: DiagnosticReport): readonly Directive[] {
  // `not path /x` and `@name not { … }` have their block after the inner kind.
  if (kind) return [{ name: kind, args, block }];
  if (!block || block.lines.length === 0) report.error(name, `${quote(name.text)} is empty: ${FORM}`);
  return block?.lines ?? [];
}

function readKind(kind: Word, args: readonly Word[], block: DirectiveBlock | null, draft: PlainDraft, report: DiagnosticReport): void {
  const read = Object.hasOwn(KINDS, kind.text) ? KINDS[kind.text] : undefined;
  const [first] = args;
  if (!read) {
    const instead = CADDY_KINDS.get(kind.text);
    if (instead !== undefined) return report.error(kind, `${quote(kind.text)} is not a kind of matcher: ${instead}`);
    const other = OTHER_KINDS.get(kind.text);
    const meant = didYouMean(other ?? kind.text, ALL_KINDS) || `; the kinds are ${ALL_KINDS.join(', ')}`;
    return report.error(kind, `${quote(kind.text)} is not a kind of matcher${meant}`);
  }
  if (block) return report.error(block.open, `${kind.text} takes no block: ${FORM}`);
  if (!first) return report.error(kind, `${kind.text} is missing an argument: write ${read.form}`);
  read.read(args, draft, (word, why) => report.error(word, `${kind.text} ${quote(word.text)}: ${why}`));
}
