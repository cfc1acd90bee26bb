import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive, DirectiveBlock, DirectiveContext } from '../../config-file/directive.ts';
import type { Word } from '../../config-file/word.ts';
import { refused } from '../../values/parsed.ts';
import { requestBodyDirective } from './directive.ts';

const word = (text: string): Word => ({ path: 'Sluicefile', line: 1, column: 1, text, style: 'bare', exact: true });
const line = (text: string, block: DirectiveBlock | null = null): Directive => {
  const [name = '', ...args] = text.split(' ');
  return { name: word(name), args: args.map(word), block };
};
const block = (...lines: string[]): Directive => line('request_body', { open: word('{'), lines: lines.map((text) => line(text)) });
const unasked = (): never => assert.fail('a limit on bodies does not use this');

function read(directive: Directive) {
  const mistakes: string[] = [];
  const part: Parameters<typeof requestBodyDirective.read>[1] = {};
  const reading: DirectiveContext = {
    report: { error: (_, message) => mistakes.push(message.replace(/\p{Noncharacter_Code_Point}/gu, '')), warn: unasked },
    conditionFor: unasked,
    expanded: (lines) => lines,
    textOf: () => refused('no file'),
    now: 0,
    sourceWords: new WeakMap(),
  };
  requestBodyDirective.read(directive, part, reading, null);
  return { limit: part.request_body?.max_size, mistakes };
}

test('the limit is written after the directive’s name or in a block', () => {
  assert.deepEqual(read(line('request_body max_size 10MB')), { limit: 10_485_760, mistakes: [] });
  assert.deepEqual(read(block('max_size 512kb')), { limit: 524_288, mistakes: [] });
});

for (const [directive, mistake] of [
  [line('request_body 10mb'), 'request_body "10mb": write max_size <size>'],
  [line('request_body max_sise 10mb'), 'request_body "max_sise" (did you mean "max_size"?)'],
  [line('request_body max_size'), 'max_size is missing an argument: write max_size <size>'],
  [line('request_body max_size 10'), 'max_size "10": a size is a whole number followed by b, kb, mb or gb, such as 256kb'],
  [block(), 'request_body is empty: write max_size <size>'],
  [block('max_size 1mb', 'max_size 2mb'), 'request_body takes one line: max_size <size>'],
  [block('max_size 1mb 2mb'), '"2mb" is one argument too many for max_size: write max_size <size>'],
] as const)
  test(`reports a mistake and what to write: ${mistake}`, () => {
    const { limit, mistakes } = read(directive);
    assert.deepEqual(mistakes, [mistake]);
    assert.notEqual(limit, undefined, 'a mistake must not remove the limit');
  });
