import type { Condition } from '../../condition.ts';
import type { Directive, DirectiveContext, Grammar } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import { isFramingHeader } from '../../response-header.ts';
import { MAX_HEADERS } from './change.ts';
import { CHANGE_FORM, type ChangeRules, type FieldChange, readChange } from './change-line.ts';

type Header = FieldChange & { match?: Condition | undefined };
export type HeaderPart = { headers?: Header[] | undefined };

const rulesOf = (directive: string, prefixes: string): ChangeRules => ({
  directive,
  prefixes,
  refuse: (name) => (isFramingHeader(name) ? 'the proxy itself sets this header; delete the line' : undefined),
  scopeOf: () => 'answer',
});

export const headerDirective: Grammar<HeaderPart> = {
  name: 'header',
  otherNames: ['add_header'],
  form: `header ${CHANGE_FORM}, or a block with one ${CHANGE_FORM} per line`,
  args: [1, Number.POSITIVE_INFINITY],
  block: 'instead',
  repeats: true,
  matcher: 'before',
  read({ name, args, block }, part, { report }, condition) {
    const match = condition === null ? {} : { match: condition };
    if (block === null) {
      const [first, ...values] = args;
      if (first) readHeader('header', { name: first, args: values }, match, part, report);
      return;
    }
    if (block.lines.length === 0) report.error(name, 'the header block is empty: write one <Name> <value> per line, or delete it');
    const isDefer = (line: Directive): boolean => line.name.text === 'defer' && line.args.length === 0;
    const marks = block.lines.some(isDefer) ? { deferred: true as const, ...match } : match;
    for (const line of block.lines) {
      if (line.block) report.error(line.block.open, 'a header line takes no block');
      if (!isDefer(line)) readHeader('header', line, marks, part, report);
    }
  },
};

/** The form of `header_down`, which changes responses of the upstreams of one reverse_proxy. */
export const HEADER_DOWN_FORM = 'header_down [+|-|?]<Name> [<value>|<find> <replacement>]';

/** Reads a line of `header_down`. */
export function readHeaderDown({ args: [name, ...args] }: Directive, part: HeaderPart, report: DirectiveContext['report']): void {
  if (name) readHeader('header_down', { name, args }, { upstream_only: true }, part, report);
}

/** Reads one line that changes a response header; `directive` is its name, for errors. */
function readHeader(
  directive: string,
  { name, args }: Pick<Directive, 'name' | 'args'>,
  marks: Pick<Header, 'match' | 'deferred' | 'upstream_only'>,
  part: HeaderPart,
  report: DirectiveContext['report'],
): void {
  const change = readChange(name, args, rulesOf(directive, marks.upstream_only ? '+-?' : '+-?>'), report);
  if (change === undefined) return;
  const { headers = [] } = part;
  const isSame = (other: Header): boolean =>
    other.name.toLowerCase() === change.name.toLowerCase() &&
    other.op === undefined &&
    other.match === marks.match &&
    other.upstream_only === marks.upstream_only;
  if (change.op === undefined && headers.some(isSame))
    report.warn(name, `${directive} ${quote(change.name)} appears twice in this block; the last one wins`);
  if (headers.length === MAX_HEADERS) return report.error(name, `a block has at most ${MAX_HEADERS} headers`);
  part.headers = [...headers, { ...change, ...marks }];
}
