import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Directive } from '../../config-file/directive.ts';
import { blockOf, directiveContext, line } from '../testing/directive-context.ts';
import { requestBodyDirective } from './directive.ts';

const block = (...lines: string[]): Directive => line('request_body', blockOf(...lines));
function read(directive: Directive) {
  const { context, mistakes } = directiveContext();
  const part: Parameters<typeof requestBodyDirective.read>[1] = {};
  requestBodyDirective.read(directive, part, context, null);
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
