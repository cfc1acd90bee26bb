import type { Condition, ShareCondition } from '../../../../shared/condition.ts';
import { parsePathPattern } from '../../../../shared/config-file/path-pattern.ts';
import { quote } from '../../../../shared/config-file/quote.ts';
import { isMatcher, lineOf, type Word } from '../../../../shared/config-file/word.ts';
import { MAX_BLOCKS } from '../../../../shared/limits.ts';
import { MAX_PARTS } from '../../../../shared/share.ts';
import { NAME_TOKEN } from '../../../../shared/values/token.ts';
import type { DiagnosticReport } from '../diagnostics/diagnostics.ts';
import { addBlock, hidingBlock } from './hiding.ts';
import { type Context, emptyDraft, type HandleDraft, type Rule, type SiteDraft } from './rule.ts';

const FORM = 'split [<path-pattern>|<matcher>] <weight> { … }';
const BY_FORM = 'split_by request|address|cookie [<name>]|header <name>';
/** The highest weight of a group. */
const MAX = 10_000;

/** A group. Requests are divided among groups by weight, regardless of how many targets each has. */
export const split: Rule<SiteDraft> = {
  name: 'split',
  form: FORM,
  scopes: ['site'],
  args: [1, 2],
  block: 'required',
  repeats: true,
  answers: true,
  matcher: 'instead',
  read({ name, args, block }, draft, context) {
    const { report } = context;
    if (!block) return;
    const [selected, weighted] = args.length === 2 ? args : [undefined, args[0]];
    const weight = readWeight(weighted as Word, report);
    const selection = readSelection(name, selected, context);
    const inner = emptyDraft();
    context.readBlock(block, 'handle', inner);
    if (selection === undefined || weight === undefined) return;
    const isOfSet = (other: HandleDraft): boolean => other.group !== undefined && setOf(other) === setOf(selection);
    const earlier = hidingBlock(draft, selection, (other) => !isOfSet(other));
    if (earlier) report.error(selected ?? name, `this group is never reached: the block in ${lineOf(earlier.place, name)} matches first`);
    else if (draft.handles.length === MAX_BLOCKS) report.error(name, `a site has at most ${MAX_BLOCKS} blocks`);
    else addBlock(draft, { place: name, ...selection, strip: false, draft: inner, group: { weight } });
  },
};

/** What decides which group gets a request. */
export const splitBy: Rule<SiteDraft> = {
  name: 'split_by',
  form: BY_FORM,
  scopes: ['site'],
  args: [1, 2],
  block: 'none',
  repeats: false,
  read({ name, args: [kind, named] }, draft, { report }) {
    if (kind === undefined) return;
    const by = kind.text;
    const takesName = by === 'cookie' || by === 'header';
    if (by !== 'request' && by !== 'address' && !takesName) return report.error(kind, `split_by ${quote(by)}: write ${BY_FORM}`);
    if (named && !takesName) return report.error(named, `${quote(named.text)} is one argument too many for split_by ${by}`);
    if (!named && by === 'header') return report.error(kind, 'split_by header needs the name of the header');
    if (named && !NAME_TOKEN.test(named.text))
      return report.error(named, `split_by ${by} ${quote(named.text)}: a name consists of letters, digits and hyphens`);
    draft.splitBy = { by, ...(named && { name: named.text }) };
    draft.splitByPlace = name;
  },
};

function readWeight(word: Word, report: DiagnosticReport): number | undefined {
  const weight = Number(word.text);
  if (/^\d{1,5}$/.test(word.text) && weight <= MAX) return weight;
  report.error(word, `split ${quote(word.text)}: a weight is a number from 0 to ${MAX}, without a sign`);
  return undefined;
}

function readSelection(name: Word, word: Word | undefined, context: Context): Pick<HandleDraft, 'path' | 'match'> | undefined {
  if (word === undefined) return { path: null, match: null };
  if (isMatcher(word)) {
    const match = context.conditionFor(name.text, word);
    return match && { path: null, match };
  }
  const pattern = parsePathPattern(word.text);
  if (pattern.ok) return { path: pattern.value, match: null };
  context.report.error(word, `split ${quote(word.text)}: ${pattern.reason}`);
  return undefined;
}

/** Groups of one set divide the requests of the same path or matcher. */
const setOf = ({ path, match }: Pick<HandleDraft, 'path' | 'match'>): string => JSON.stringify([path, match]);

/** Gives each group its share of the requests that its path or matcher selects. */
export function divideGroups({ handles, splitBy: by, splitByPlace }: SiteDraft, report: DiagnosticReport): HandleDraft[] {
  const groups = handles.filter(({ group }) => group !== undefined);
  if (splitByPlace && groups.length === 0) report.error(splitByPlace, `split_by divides nothing without groups: write ${FORM}`);
  const sets = Map.groupBy(groups, setOf);
  const shares = new Map<HandleDraft, ShareCondition>();
  for (const set of sets.values()) {
    const of = set.reduce((sum, { group }) => sum + (group?.weight ?? 0), 0);
    const [first, second] = set as [HandleDraft, HandleDraft?];
    if (second === undefined) report.error(first.place, 'a single split divides nothing: write another one, or handle');
    else if (of === 0) report.error(first.place, 'all groups of this split have the weight 0, so none would get a request');
    else if (of > MAX_PARTS) report.error(first.place, `the weights of a split add up to ${MAX_PARTS} at most`);
    else divide(set, of, by, shares);
  }
  return handles.map((handle) => {
    const share = shares.get(handle);
    if (share === undefined) return handle;
    const match: Condition = {
      name: `${handle.match?.name ?? handle.path ?? 'split'} ${share.to - share.from} of ${share.of}`,
      ...unnamed(handle.match),
      share,
    };
    return { ...handle, match };
  });
}

function divide(groups: readonly HandleDraft[], of: number, by: SiteDraft['splitBy'], shares: Map<HandleDraft, ShareCondition>): void {
  let from = 0;
  for (const handle of groups) {
    const to = from + (handle.group?.weight ?? 0);
    shares.set(handle, { from, to, of, ...by });
    from = to;
  }
}

const unnamed = (match: Condition | null): Omit<Condition, 'name'> => {
  const { name: _, ...rest } = match ?? {};
  return rest;
};
