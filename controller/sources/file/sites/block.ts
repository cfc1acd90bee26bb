import type { Condition } from '../../../../shared/condition.ts';
import { type Directive, type DirectiveBlock, firstOf } from '../../../../shared/config-file/directive.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { isMatcher, lineOf, type Position, type Word } from '../../../../shared/config-file/word.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { reportLiteralMarks } from '../diagnostics/literal-marks.ts';
import { reportPunctuation } from '../diagnostics/punctuation.ts';
import type { BlockKind, Context, Rule, Rules } from '../directives/rule.ts';
import { misplaced } from './misplaced.ts';
import { reportNginxVariables } from './nginx-variables.ts';

/**
 * Reads the directives of one block into `draft`. `seen` collects the first of each. A rule only gets directives of the right form;
 * everything else is reported here.
 */
export function readLines<Draft>(
  written: DirectiveBlock,
  scope: BlockKind,
  rules: Rules<Draft>,
  draft: Draft,
  seen: Word[],
  context: Context,
): void {
  const { report } = context;
  const block = context.expanded(written);
  for (const directive of block.lines) {
    if (report.full()) return;
    const { name } = directive;
    const rule = rules.get(name.text);
    const condition = conditionOf(directive, rule, context);
    const key = condition === null ? name.text : `@${name.text}`;
    const first = firstOf(seen, key);
    if (!first) seen.push(condition === null ? name : { ...name, text: key });
    if (!rule) report.error(name, context.unknown(directive, scope, block));
    else if (!rule.scopes.includes(scope)) report.error(name, misplaced(name.text, rule.scopes, scope));
    else if (first && rule.repeats !== true && condition === null)
      report.error(name, `${rule.name} is already in ${lineOf(first, name)}; keep one of them`);
    else readLine(directive, rule, condition, draft, context);
  }
}

/** The condition of the matcher before a directive's arguments; null without one, undefined if there is none of that name. */
function conditionOf<Draft>(
  { name, args: [first] }: Directive,
  rule: Rule<Draft> | undefined,
  { conditionFor }: Context,
): Condition | null | undefined {
  const isConditional = rule && rule.matcher === 'before' && first && isMatcher(first);
  return isConditional ? conditionFor(name.text, first) : null;
}

function readLine<Draft>(
  written: Directive,
  rule: Rule<Draft>,
  condition: Condition | null | undefined,
  draft: Draft,
  context: Context,
): void {
  const [first] = written.args;
  if (condition === null && first && isMatcher(first) && !rule.matcher)
    return context.report.error(first, `${rule.name} takes no matcher: put it in a block, as in handle ${unquoted(first.text)} { … }`);
  const directive = condition === null ? written : { ...written, args: written.args.slice(1) };
  if (condition === undefined || !hasShape(directive, rule, context.report)) return;
  const whole = withImports(directive, context);
  reportNginxVariables(whole, context.report);
  rule.read(whole, draft, context, condition);
  reportPunctuation(whole, context.report);
  reportLiteralMarks(whole, context.report);
}

/** Lines may be imported in any block, whether directives, headers or users. */
function withImports(directive: Directive, { expanded }: Context): Directive {
  return directive.block ? { ...directive, block: expanded(directive.block) } : directive;
}

function hasShape<Draft>({ name, args, block }: Directive, rule: Rule<Draft>, report: DiagnosticReport): boolean {
  const [least, most] = rule.args;
  const form = `write ${rule.form}`;
  const fail = (place: Position, message: string): boolean => {
    report.error(place, `${message}: ${form}`);
    return false;
  };
  const reportBoth = (first: Word): boolean => {
    // In a Caddyfile, a path may come before the block.
    const isPath = first.style === 'bare' && first.text.startsWith('/');
    if (!isPath) return fail(first, `${rule.name} has arguments or a block, not both`);
    report.error(first, `${rule.name} takes no path: put it in a handle block`);
    return false;
  };
  const extra = args[most];
  if (block && rule.block === 'none') return fail(block.open, `${rule.name} takes no block`);
  if (!block && rule.block === 'required') return fail(name, `${rule.name} needs a block`);
  if (block && rule.block === 'instead') return args[0] === undefined || reportBoth(args[0]);
  if (args.length < least) return fail(name, `${rule.name} is missing an argument`);
  return extra ? fail(extra, `${quote(extra.text)} is one argument too many for ${rule.name}`) : true;
}
