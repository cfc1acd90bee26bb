import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { accepted, type Parsed, refused } from './parsed.ts';

/*
 * Regular expressions that match any text in linear time (RE2 syntax). Those of JavaScript can take exponential time, which a client could
 * exploit.
 */

const LONGEST_PATTERN = 1_000;
/** The maximum number of instructions of a compiled expression, which bounds the cost of each byte of a text. */
const LARGEST_PROGRAM = 250;
/** A longer text never matches (bytes). */
export const LONGEST_TEXT = 4_096;

/** Reads a regular expression in RE2's syntax, ASCII only. */
export function parseRegexp(pattern: string): Parsed<string> {
  if (pattern === '') return refused('the expression is empty');
  if (pattern.length > LONGEST_PATTERN) return refused(`an expression has at most ${LONGEST_PATTERN} characters`);
  if (!/^[\x20-\x7e]*$/.test(pattern)) return refused('an expression consists of ASCII characters: write others as in \\xE9');
  try {
    if (engine().compile(pattern).programSize() > LARGEST_PROGRAM) return refused('the expression is too complex: use fewer repetitions');
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith(SYNTAX_ERROR)) throw error;
    // The rest of the message repeats a part of the expression, which may come from a variable.
    const [problem] = error.message.slice(SYNTAX_ERROR.length).split(': `');
    return refused(`it is not a regular expression of RE2: ${problem}`);
  }
  return accepted(pattern);
}

/** @returns whether an expression that was accepted by `parseRegexp` matches anywhere in a text. */
export function compileRegexp(pattern: string, folds = false): (text: string) => boolean {
  const { RE2JS } = library();
  const expression = RE2JS.compile(pattern, folds ? RE2JS.CASE_INSENSITIVE : 0);
  return (text) => text.length <= LONGEST_TEXT && expression.test(text);
}

/** A part of a replacement: literal text, or the capture of a group, by number (0 is the whole match). */
type Replacement = readonly (string | number)[];

/** Reads a replacement in Go's syntax: `$1`, `${1}`, `$name`, `${name}` and `$$`. `pattern` was accepted by `parseRegexp`. */
export function parseReplacement(pattern: string, text: string): Parsed<Replacement> {
  const expression = engine().compile(pattern);
  const names: Readonly<Record<string, number>> = expression.namedGroups();
  const pieces: (string | number)[] = [];
  for (const [whole, braced, bare] of text.matchAll(/\$\$|\$\{(\w+)\}|\$(\w+)|\$|[^$]+/g)) {
    const name = braced ?? bare;
    if (name === undefined) {
      if (whole === '$') return refused('"$" is followed by the number or the name of a group, as in $1; write $$ for the character');
      pieces.push(whole === '$$' ? '$' : whole);
      continue;
    }
    const group = /^\d+$/.test(name) ? Number(name) : names[name];
    if (group === undefined || group > expression.groupCount())
      return refused(
        'the replacement names a group that the expression does not have; put the name in braces where a letter or digit follows',
      );
    pieces.push(group);
  }
  return accepted(pieces);
}

/**
 * Replaces every match of an expression in a text, in time linear to the text.
 * @returns null if the text or the result is longer than allowed; `longest` is that of the result.
 */
export function compileReplacement(pattern: string, text: string, longest: number): (text: string) => string | null {
  const expression = engine().compile(pattern);
  const replacement = parseReplacement(pattern, text);
  if (!replacement.ok) throw new Error(replacement.reason);
  return (subject) => {
    if (subject.length > LONGEST_TEXT) return null;
    let length = subject.length;
    const result = expression.matcher(subject).replaceAll((...groups: readonly (string | undefined)[]) => {
      if (length > longest) return '';
      const replaced = replacement.value.map((piece) => (typeof piece === 'string' ? piece : (groups[piece] ?? ''))).join('');
      length += replaced.length;
      return replaced;
    });
    return length > longest ? null : result;
  };
}

const SYNTAX_ERROR = 'error parsing regexp: ';

const require = createRequire(import.meta.url);
/** Loaded when the first expression is used, since most installations have none. */
const library = (): { readonly RE2JS: typeof RE2JS } => require('re2js');
const engine = (): typeof RE2JS => library().RE2JS;
