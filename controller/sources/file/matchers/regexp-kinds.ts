import type { PatternCondition } from '../../../../shared/condition.ts';
import type { Word } from '../../../../shared/config-file/word.ts';
import { parseRegexp } from '../../../../shared/values/regexp.ts';
import { fieldProblem, type Kind, type Refuse } from './kind.ts';

const MAX_PATTERNS = 20;

export const pathRegexp: Kind = {
  form: 'path_regexp <regexp>',
  read([word, extra], draft, refuse) {
    if (extra) return refuse(extra, 'one expression per line, without a name: put it in quotes if it contains spaces');
    const pattern = word && patternOf(word, refuse);
    if (!word || pattern === undefined) return;
    if (draft.path_regexp?.length === MAX_PATTERNS) return refuse(word, `a matcher has at most ${MAX_PATTERNS} expressions for the path`);
    draft.path_regexp = [...(draft.path_regexp ?? []), pattern];
  },
};

export const headerRegexp: Kind = {
  form: 'header_regexp <Name> <regexp>',
  read(args, draft, refuse) {
    const [name] = args;
    const problem = name && fieldProblem(name.text);
    if (name && problem) return refuse(name, problem);
    const added = namedPattern(args, draft.header_regexp ?? [], refuse);
    if (added) draft.header_regexp = added;
  },
};

export const queryRegexp: Kind = {
  form: 'query_regexp <name> <regexp>',
  read(args, draft, refuse) {
    const added = namedPattern(args, draft.query_regexp ?? [], refuse);
    if (added) draft.query_regexp = added;
  },
};

function namedPattern(
  [name, word, extra]: readonly Word[],
  list: readonly PatternCondition[],
  refuse: Refuse,
): PatternCondition[] | undefined {
  if (!name) return undefined;
  if (!word) return void refuse(name, 'a name is followed by an expression');
  if (extra) return void refuse(extra, 'one expression per line: put it in quotes if it contains spaces');
  const pattern = patternOf(word, refuse);
  if (pattern === undefined) return undefined;
  if (list.length === MAX_PATTERNS) return void refuse(word, `a matcher has at most ${MAX_PATTERNS} expressions of a kind`);
  return [...list, { name: name.text, pattern }];
}

function patternOf(word: Word, refuse: Refuse): string | undefined {
  const pattern = parseRegexp(word.text);
  if (pattern.ok) return pattern.value;
  refuse(word, pattern.reason);
  return undefined;
}
