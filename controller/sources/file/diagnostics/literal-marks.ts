import type { Directive } from '../../../../shared/config-file/directive.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { isMatcher, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from './diagnostics.ts';

type Warn = (word: Word, advice: string) => void;

/**
 * Warns of marks that stand for themselves although they look as if they did not: a target does not repeat what the `*` of a pattern has
 * matched, a prefix is no pattern, `&` does not separate parameters, and `|` no alternatives. A condition with them matches no request, so
 * what it should refuse would be let through. Quotation marks say that they are meant.
 */
export function reportLiteralMarks({ name, args, block }: Directive, report: DiagnosticReport): void {
  const [first, ...rest] = args;
  if (isMatcher(name) || name.text === 'not') {
    if (first) reportLiteralMarks({ name: first, args: rest, block }, report);
    else for (const line of block?.lines ?? []) reportLiteralMarks(line, report);
    return;
  }
  CHECKS.get(name.text)?.(args, (word, advice) => {
    if (word.style === 'bare' && word.exact) report.warn(word, `${name.text} ${quote(word.text)}: ${advice}, or quote it`);
  });
}

function checkTarget(args: readonly Word[], warn: Warn): void {
  const target = args.findLast(({ text }) => /^(?:\/|\{|https?:\/\/)/i.test(text));
  if (target?.text.endsWith('/*')) warn(target, '"*" in a target stands for itself: write {remainder} for what the pattern has matched');
}

function checkPrefix([kind, word]: readonly Word[], warn: Warn): void {
  if (!word || (kind?.text !== 'strip_prefix' && kind?.text !== 'strip_suffix')) return;
  const meant = word.text.replace(/^\*|\/?\*$/g, '');
  if (meant !== '' && meant !== word.text) warn(word, `"*" in ${kind.text} stands for itself: write ${unquoted(meant)}`);
}

function checkParameters(args: readonly Word[], warn: Warn): void {
  for (const word of args) {
    if (/&[^=&]+=/.test(word.text)) warn(word, '"&" is a part of the value: write a space between parameters');
    if (/^[?&]/.test(word.text)) warn(word, `${quote(word.text.slice(0, 1))} is a part of the name: delete it`);
  }
}

/** As in patterns of other proxies and of frameworks. */
function checkPaths(args: readonly Word[], warn: Warn): void {
  for (const word of args) {
    if (/\|\//.test(word.text)) warn(word, '"|" stands for itself: name each path, in a matcher');
    const variable = /\/(:\w+|\{\w+\})(?=\/|$)/.exec(word.text)?.[1];
    if (variable !== undefined)
      warn(word, `${quote(variable)} stands for itself: "*" at the end matches any text, and path_regexp any pattern`);
  }
}

function checkMethods(args: readonly Word[], warn: Warn): void {
  for (const word of args) {
    if (word.text.includes('|')) warn(word, '"|" is a part of the name: write a space between methods');
    if (/[a-z]/.test(word.text)) warn(word, `methods differ in letter case: write ${word.text.toUpperCase()}`);
  }
}

/** As in JavaScript, where slashes enclose an expression. */
function checkExpression(args: readonly Word[], warn: Warn): void {
  const expression = args.at(-1);
  if (
    expression &&
    (/^\/\^/.test(expression.text) || (args.length > 1 && /^\/.*(?:\$\/|\/(?:[gimsuy]|gi|ig|im|mi|gm|is|iu))$/.test(expression.text)))
  )
    warn(
      expression,
      'the slashes around it are a part of the expression: delete them, and write (?i) at its start if case does not matter',
    );
}

const CHECKS: ReadonlyMap<string, (args: readonly Word[], warn: Warn) => void> = new Map([
  ['redir', checkTarget],
  ['rewrite', checkTarget],
  ['uri', checkPrefix],
  ['query', checkParameters],
  ['path', checkPaths],
  ['handle', checkPaths],
  ['handle_path', checkPaths],
  ['method', checkMethods],
  ['path_regexp', checkExpression],
  ['header_regexp', checkExpression],
  ['query_regexp', checkExpression],
]);
