import type { Condition } from '../../../../shared/condition.ts';
import type { Directive } from '../../../../shared/config-file/directive.ts';
import { covers, parsePathPattern } from '../../../../shared/config-file/path-pattern.ts';
import { quote, unquoted } from '../../../../shared/config-file/quote.ts';
import { isMatcher, lineOf, type Position, type Word } from '../../../../shared/config-file/word.ts';
import { type Context, emptyDraft, type HandleDraft, type Rule, type SiteDraft } from './rule.ts';

export const MOST_HANDLES = 1_000;

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
  const earlier = draft.handles.find((other) => hidesPath(other, path, match));
  if (earlier) report.error(word ?? name, `this block is never reached: ${describe(earlier, name)} matches first; move it up or delete it`);
  else if (draft.handles.length === MOST_HANDLES) report.error(name, `a site has at most ${MOST_HANDLES} blocks`);
  else draft.handles.push({ place: name, path, match, strip, draft: inner });
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

/** Whether an earlier block handles every request that a block with this path or condition would. */
export function hidesPath(earlier: HandleDraft, path: string | null, match: Condition | null): boolean {
  if (earlier.match !== null) return earlier.match === match;
  if (match === null) return covers(earlier.path, path);
  return earlier.path === null || match.path?.every((pattern) => covers(earlier.path, pattern)) === true;
}

function describe({ path, match, place, group }: HandleDraft, reader: Position): string {
  const pattern = match?.name ?? path ?? undefined;
  return `the ${group === undefined ? 'handle' : 'split'} ${pattern === undefined ? 'without a pattern' : unquoted(pattern)} in ${lineOf(place, reader)}`;
}
