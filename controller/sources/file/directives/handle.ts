import type { Directive } from '../../../../shared/config-file/directive.ts';
import { parsePathPattern } from '../../../../shared/config-file/path-pattern.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { isMatcher, lineOf, type Position, type Word } from '../../../../shared/config-file/word.ts';
import { MAX_BLOCKS } from '../../../../shared/limits.ts';
import { addBlock, hidingBlock } from './hiding.ts';
import { type Context, emptyDraft, type HandleDraft, type Rule, type SiteDraft } from './rule.ts';

export const handle: Rule<SiteDraft> = {
  name: 'handle',
  form: 'handle [<path-pattern>] { … }',
  scopes: ['site'],
  args: [0, 1],
  block: 'required',
  repeats: true,
  answers: true,
  matcher: 'instead',
  read: (directive, draft, context) => readHandle(directive, draft, context, false),
};

export const handlePath: Rule<SiteDraft> = {
  name: 'handle_path',
  form: 'handle_path <path-pattern> { … }',
  scopes: ['site'],
  args: [1, 1],
  block: 'required',
  repeats: true,
  answers: true,
  read: (directive, draft, context) => readHandle(directive, draft, context, true),
};

function readHandle({ name, args: [word], block }: Directive, draft: SiteDraft, context: Context, strip: boolean): void {
  if (!block) return;
  const { report } = context;
  const isConditional = word !== undefined && !strip && isMatcher(word);
  const match = isConditional ? context.conditionFor(name.text, word) : null;
  const path = word && !isConditional ? readPattern(name, word, strip, report) : null;
  const inner = emptyDraft();
  context.readBlock(block, 'handle', inner);
  if (path === undefined || match === undefined) return;
  const earlier = hidingBlock(draft, { path, match });
  if (earlier) report.error(word ?? name, `this block is never reached: ${describe(earlier, name)} matches first; move it up or delete it`);
  else if (draft.handles.length === MAX_BLOCKS) report.error(name, `a site has at most ${MAX_BLOCKS} blocks`);
  else addBlock(draft, { place: name, path, match, strip, draft: inner });
}

function readPattern(name: Word, word: Word, strip: boolean, report: Context['report']): string | undefined {
  const refuse = (why: string) => {
    report.error(word, `${name.text} ${quote(word.text)}: ${why}`);
    return undefined;
  };
  const pattern = parsePathPattern(word.text);
  if (!pattern.ok) return refuse(pattern.reason);
  // Stripping "/api" from "/apix" would leave a path without its slash.
  if (strip && /[^/]\*$/.test(pattern.value))
    return refuse(`only whole segments are taken off: write ${unquoted(`${pattern.value.slice(0, -1)}/*`)}`);
  return pattern.value;
}

function describe({ path, match, place, group }: HandleDraft, reader: Position): string {
  const pattern = match?.name ?? path ?? undefined;
  return `the ${group === undefined ? 'handle' : 'split'} ${pattern === undefined ? 'without a pattern' : unquoted(pattern)} in ${lineOf(place, reader)}`;
}
