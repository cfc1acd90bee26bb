import { didYouMean } from '../../closest.ts';
import type { DirectiveContext } from '../../config-file/directive.ts';
import { quote } from '../../config-file/quote.ts';
import type { Word } from '../../config-file/word.ts';
import { cookieProblem, headerProblem, type KeySpec, MAX_FIELDS, MAX_PARAMETERS, parameterProblem } from './key.ts';

export const KEY_FORM = 'key query|ignore_query|header|cookie <name> …';

type KeyPart = { readonly member: keyof KeySpec; readonly most: number; problem(name: string): string | null };
const PARTS: Readonly<Record<string, KeyPart>> = {
  query: { member: 'query', most: MAX_PARAMETERS, problem: parameterProblem },
  ignore_query: { member: 'ignore_query', most: MAX_PARAMETERS, problem: parameterProblem },
  header: { member: 'headers', most: MAX_FIELDS, problem: headerProblem },
  cookie: { member: 'cookies', most: MAX_FIELDS, problem: cookieProblem },
};

/** Reads a line `key …` into what earlier ones have said. @returns null after a mistake. */
export function readKey(
  [part, ...names]: readonly Word[],
  before: KeySpec,
  report: DirectiveContext['report'],
  name: Word,
): KeySpec | null {
  const known = part && Object.hasOwn(PARTS, part.text) ? PARTS[part.text] : undefined;
  const wrong = (word: Word, message: string): null => {
    report.error(word, message);
    return null;
  };
  if (!part) return wrong(name, `key is missing an argument: write ${KEY_FORM}`);
  if (!known) return wrong(part, `key ${quote(part.text)}${didYouMean(part.text, Object.keys(PARTS)) || `: write ${KEY_FORM}`}`);
  if (names.length === 0) return wrong(part, `key ${part.text} is missing a name: write key ${part.text} <name> …`);
  const { member, most, problem } = known;
  const listed = [...(before[member] ?? [])];
  for (const word of names) {
    const reason = problem(word.text);
    if (reason !== null) return wrong(word, `key ${part.text} ${quote(word.text)}: ${reason}`);
    if (listed.includes(word.text)) return wrong(word, `key ${part.text} already names ${quote(word.text)}`);
    listed.push(word.text);
  }
  if (listed.length > most) return wrong(part, `key ${part.text} has at most ${most} names`);
  const key = { ...before, [member]: listed };
  if (key.query === undefined || key.ignore_query === undefined) return key;
  return wrong(part, 'key query names the only parameters that decide, so there is nothing to ignore: keep one of query and ignore_query');
}
