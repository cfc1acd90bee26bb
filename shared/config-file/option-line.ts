import { didYouMean } from '../closest.ts';
import { type Directive, type DirectiveContext, firstOf } from './directive.ts';
import { quote } from './quote.ts';
import { lineOf, type Word } from './word.ts';

/** The syntax of an option, which is a line in the block of a directive. */
export type OptionSyntax = {
  /** For errors. */
  readonly form: string;
  /** Minimum number of arguments (default: 0). */
  readonly least?: number;
  /** Whether it may be given several times. */
  readonly repeats?: true;
};

/**
 * Finds the option that a line gives, and checks its syntax. `seen`: the options given in the block, to which the line is added.
 * @returns null if there is a mistake, which is reported.
 */
export function optionOf<Option extends OptionSyntax>(
  directive: string,
  { name, args, block }: Directive,
  options: Readonly<Record<string, Option>>,
  seen: Word[],
  report: DirectiveContext['report'],
): Option | null {
  const option = Object.hasOwn(options, name.text) ? options[name.text] : undefined;
  const earlier = option?.repeats ? undefined : firstOf(seen, name.text);
  seen.push(name);
  if (!option) {
    const forms = Object.values(options).map(({ form }) => form);
    const advice = didYouMean(name.text, Object.keys(options)) || `: write ${forms.join(', ')}, one per line`;
    report.error(name, `${directive} has no ${quote(name.text)}${advice}`);
  } else if (earlier) report.error(name, `${name.text} is already in ${lineOf(earlier, name)}; keep one of them`);
  else if (block) report.error(block.open, `${name.text} takes no block: write ${option.form}`);
  else if (args.length < (option.least ?? 0)) report.error(name, `${name.text} is missing an argument: write ${option.form}`);
  else return option;
  return null;
}
