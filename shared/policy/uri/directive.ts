import { didYouMean } from '../../closest.ts';
import type { Condition } from '../../condition.ts';
import type { Directive, Grammar } from '../../config-file/directive.ts';
import { readTemplate } from '../../config-file/placeholder.ts';
import { quote, unquoted } from '../../config-file/quote.ts';
import type { Position, Word } from '../../config-file/word.ts';
import { faultOfChange, MAX_URI_CHANGES, type UriChange } from './changes.ts';

const FORMS: Readonly<Record<string, string>> = {
  strip_prefix: 'uri strip_prefix <prefix>',
  strip_suffix: 'uri strip_suffix <suffix>',
  replace: 'uri replace <find> <replacement> [<limit>]',
  path_regexp: 'uri path_regexp <expression> <replacement>',
  query: 'uri query [+|-]<name> [<value>], or uri query <name>><new-name>',
};
const KINDS = Object.keys(FORMS);
const OPTIONS = KINDS.join('|');

type ConditionalChange = UriChange & { match?: Condition | undefined };
type Report = { error(place: Position, message: string): void };

export const uriDirective: Grammar<{ uri?: ConditionalChange[] | undefined }> = {
  name: 'uri',
  form: `uri ${OPTIONS} …`,
  args: [1, 4],
  block: 'optional',
  repeats: true,
  matcher: 'before',
  read({ name, args: [kind, ...words], block }, part, { report }, condition) {
    if (!kind) return;
    const form = FORMS[kind.text];
    if (form === undefined) {
      const advice = kind.text.startsWith('/')
        ? ': uri takes no path: put it in a handle block'
        : didYouMean(kind.text, KINDS) || `: write ${OPTIONS}`;
      return report.error(kind, `uri ${quote(kind.text)}${advice}`);
    }
    if (block && kind.text !== 'query') return report.error(block.open, `uri ${kind.text} takes no block: write ${form}`);
    const lines = block ? block.lines : [{ name: words[0] ?? kind, args: words.slice(1), block: null } satisfies Directive];
    if (block && (words.length > 0 || lines.length === 0)) return report.error(kind, `write ${form}, or a block with one change per line`);
    for (const line of lines) {
      const change =
        block || kind.text === 'query'
          ? readQuery(kind, line, block ? true : words.length > 0, report)
          : readChange(kind, words, form, report);
      if (change === undefined) continue;
      const { uri = [] } = part;
      if (uri.length === MAX_URI_CHANGES) return report.error(name, `a block has at most ${MAX_URI_CHANGES} uri lines`);
      part.uri = [...uri, { ...change, ...(condition && { match: condition }) }];
    }
  },
};

function readChange(kind: Word, words: readonly Word[], form: string, report: Report): UriChange | undefined {
  const change = changeOf(kind.text, words);
  if (change === undefined) {
    report.error(words.at(-1) ?? kind, `uri ${kind.text}: write ${form}`);
    return undefined;
  }
  const fault = faultOfChange(change);
  if (fault === undefined) return change;
  report.error(words[0] ?? kind, `uri ${kind.text} ${quote(words[0]?.text ?? '')}: ${fault}`);
  return undefined;
}

function changeOf(kind: string, [first, second, third, extra]: readonly Word[]): UriChange | undefined {
  if (!first || extra) return undefined;
  if (kind === 'strip_prefix') return second ? undefined : { strip_prefix: first.text };
  if (kind === 'strip_suffix') return second ? undefined : { strip_suffix: first.text };
  if (!second) return undefined;
  if (kind === 'path_regexp') return third ? undefined : { path_regexp: { pattern: first.text, by: second.text } };
  if (third && !/^[1-9]\d{0,3}$/.test(third.text)) return undefined;
  return { replace: { find: first.text, by: second.text, ...(third && { limit: Number(third.text) }) } };
}

/** `name value`, `+name value`, `-name` or `name>new`. */
function readQuery(kind: Word, { name, args: [value, extra] }: Directive, given: boolean, report: Report): UriChange | undefined {
  const refuse = (place: Position, why: string): undefined => {
    report.error(place, `uri query${given ? ` ${quote(name.text)}` : ''}: ${why}`);
    return undefined;
  };
  if (!given) return refuse(kind, `write ${FORMS.query}`);
  if (extra) return refuse(extra, 'a parameter has one value per line: put it in quotes');
  const sign = /^[+-]/.exec(name.text)?.[0] ?? '';
  const text = name.text.slice(sign.length);
  const arrow = text.indexOf('>');
  if (sign === '' && arrow > 0) {
    const [before, after] = [text.slice(0, arrow), text.slice(arrow + 1)];
    if (value) return refuse(value, 'a renamed parameter keeps its value');
    return after === '' ? refuse(name, 'it has no new name') : { query: { name: before, op: 'rename', value: after } };
  }
  if (sign === '-') return value ? refuse(value, 'a removed parameter has no value') : { query: { name: text, op: 'remove' } };
  if (!value) return refuse(name, `it has no value: write ${unquoted(name.text)} <value>, or -${unquoted(text)} to remove it`);
  const read = readTemplate(value, 'request');
  if ('fault' in read) return refuse(value, read.fault);
  const change: UriChange = { query: { name: text, op: sign === '+' ? 'add' : 'set', value: read.text } };
  const fault = faultOfChange(change);
  return fault === undefined ? change : refuse(name, fault);
}
