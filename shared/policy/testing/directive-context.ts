import assert from 'node:assert/strict';
import type { Directive, DirectiveBlock, DirectiveContext } from '../../config-file/directive.ts';
import type { Word } from '../../config-file/word.ts';
import { refused } from '../../values/parsed.ts';

export const word = (text: string): Word => ({ path: 'Sluicefile', line: 1, column: 1, text, style: 'bare', exact: true });

/** A directive of words that spaces separate. */
export function line(text: string, block: DirectiveBlock | null = null): Directive {
  const [name = '', ...args] = text.split(' ');
  return { name: word(name), args: args.map(word), block };
}

export const blockOf = (...lines: readonly (string | Directive)[]): DirectiveBlock => ({
  open: word('{'),
  lines: lines.map((one) => (typeof one === 'string' ? line(one) : one)),
});

const unasked = (): never => assert.fail('the directive does not use this');

/** What a directive is read with, and the mistakes that it reports, without the marks around quoted text. A warning fails the test. */
export function directiveContext(more: Partial<Omit<DirectiveContext, 'report'>> = {}) {
  const mistakes: string[] = [];
  const context: DirectiveContext = {
    report: { error: (_, message) => mistakes.push(message.replace(/\p{Noncharacter_Code_Point}/gu, '')), warn: unasked },
    conditionFor: unasked,
    expanded: (lines) => lines,
    textOf: () => refused('no file'),
    now: 0,
    sourceWords: new WeakMap(),
    ...more,
  };
  return { context, mistakes };
}
